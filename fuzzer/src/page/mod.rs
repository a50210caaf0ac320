//! The report on a finding as a page: one HTML file that needs nothing else, for vendors, and Markdown, for issue trackers.

pub(crate) mod figure;
mod finding;
mod headers;
mod ladder;
mod times;

pub use finding::{Page, pages};

/// A text as HTML and as Markdown have it in a page.
pub(crate) fn escaped(text: &str) -> [String; 2] {
    let html = askama::filters::escape(text, askama::filters::Html).map(|text| text.to_string());
    // Writing to a String cannot fail.
    [html.unwrap_or_default(), filters::markdown(text)]
}

/// Text in Markdown, for templates.
#[expect(unreachable_pub, reason = "so does the macro that makes filters")]
pub(crate) mod filters {
    use askama::Values;

    /// Text that Markdown would take as its own, escaped.
    #[askama::filter_fn]
    pub(crate) fn md<T: std::fmt::Display>(text: T, _: &dyn Values) -> askama::Result<String> {
        Ok(markdown(&text.to_string()))
    }

    pub(super) fn markdown(text: &str) -> String {
        let mut escaped = String::new();
        for letter in text.chars() {
            if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~') {
                escaped.push('\\');
            }
            escaped.push(if letter.is_control() { ' ' } else { letter });
        }
        escaped
    }
}
