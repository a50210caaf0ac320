//! `analyzers list` and `analyzers show`.

use crate::run::lumina_fuzz;

#[test]
fn list_and_show_agree() {
    let listed = lumina_fuzz(["analyzers", "list", "--format", "json"]).json();
    for analyzer in listed.as_array().unwrap() {
        let name = analyzer["name"].as_str().unwrap();
        let shown = lumina_fuzz(["analyzers", "show", name, "--format", "json"]);
        assert_eq!((shown.code, &shown.json()), (0, analyzer));
        let text = lumina_fuzz(["analyzers", "show", name]).stdout;
        for rule in analyzer["rules"].as_array().unwrap() {
            assert!(text.contains(rule["name"].as_str().unwrap()), "{name} does not show {rule}");
        }
    }
    insta::assert_snapshot!("analyzers_list", lumina_fuzz(["analyzers", "list"]).stdout);
}

#[test]
fn tables_are_shown_as_text_and_as_diagrams() {
    let table = lumina_fuzz(["analyzers", "show", "go-back-n"]).stdout;
    assert!(table.contains("NakOwed") && table.contains("BREAKS nak-again"));
    let diagram = lumina_fuzz(["analyzers", "show", "go-back-n", "--diagram"]).stdout;
    assert_eq!(diagram.matches("stateDiagram-v2").count(), 3);
}
