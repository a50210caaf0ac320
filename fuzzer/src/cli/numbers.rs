//! Numbers as values of options: what they may be is said of those that are not.

use std::num::IntErrorKind;
use std::ops::RangeInclusive;

use clap::Command;

/// A parser of whole numbers within bounds.
pub(super) fn whole(
    bounds: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let (least, most) = (bounds.start(), bounds.end());
        let is_digits =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(number) if bounds.contains(&number) => Ok(number),
            Ok(number) if number < *least => Err(format!("must be at least {least}")),
            Ok(_) => Err(format!("must be at most {most}")),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
                Err(format!("must be at most {most}"))
            }
            Err(_) if text.strip_prefix('-').is_some_and(is_digits) => {
                Err(format!("must be at least {least}"))
            }
            Err(_) => Err("is not a whole number".into()),
        }
    }
}

/// A parser of probabilities below 1, as a number or a fraction: 0.001, 1e-3, 1/1024.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let parsed = match text.split_once('/') {
        Some((above, below)) => number(above).zip(number(below)).map(|(above, below)| above / below),
        None => number(text),
    };
    match parsed {
        None => Err("is no number, such as 0.001, 1e-3 or 1/1024".into()),
        Some(number) if number < 0.0 => Err("must be at least 0".into()),
        Some(number) if (0.0..1.0).contains(&number) => Ok(number),
        Some(_) => Err("must be below 1".into()),
    }
}

/// Takes negative numbers as values of the options that they stand behind, whose parsers refuse them with the least value.
/// As unknown options they would be refused with the advice to write `-- -1`.
pub(super) fn with_negative_numbers(command: Command) -> Command {
    let of_option = |arg: clap::Arg| {
        let takes_value = !arg.is_positional() && arg.get_action().takes_values();
        if takes_value { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(of_option).mut_subcommands(with_negative_numbers)
}
