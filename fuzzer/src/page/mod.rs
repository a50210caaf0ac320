//! The report on a finding as a page: one HTML file that needs nothing else, for vendors, and Markdown, for issue trackers.

pub(crate) mod figure;
mod finding;
mod headers;
mod ladder;
mod times;

pub use finding::{Page, html, markdown};

/// Text in Markdown, for templates.
#[expect(unreachable_pub, reason = "so does the macro that makes filters")]
pub(crate) mod filters {
    use askama::Values;

    /// Text that Markdown would take as its own, escaped.
    #[askama::filter_fn]
    pub(crate) fn md<T: std::fmt::Display>(text: T, _: &dyn Values) -> askama::Result<String> {
        let mut escaped = String::new();
        for letter in text.to_string().chars() {
            if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~') {
                escaped.push('\\');
            }
            escaped.push(if letter.is_control() { ' ' } else { letter });
        }
        Ok(escaped)
    }
}
