//! Reports as pages: one HTML file that needs nothing else, for vendors, and Markdown, for issue trackers.

mod campaign;
mod figure;
mod finding;
mod headers;
mod ladder;
mod times;
mod versus;

pub use campaign::campaign;
pub use finding::{Page, html, markdown};
pub use versus::versus;

/// Text in Markdown, for templates.
#[expect(unreachable_pub, reason = "so does the macro that makes filters")]
mod filters {
    use askama::Values;

    /// Text that Markdown would take as its own, escaped.
    #[askama::filter_fn]
    pub(super) fn md<T: std::fmt::Display>(text: T, _: &dyn Values) -> askama::Result<String> {
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
