//! The README says what there is: every key, every tool, every command.

use recalld::config;

const README: &str = include_str!("../../README.md");

#[test]
fn the_readme_names_every_configuration_key_with_its_default() {
    for key in config::keys() {
        let is_half_life = key.key.starts_with("decay.half_life_days.");
        let is_access = key.key.starts_with("access.");
        let named = format!("| `{}` | `{}` |", key.key, key.default);
        assert!(is_half_life || is_access || README.contains(&named), "{named}");
    }
}

#[test]
fn the_readme_names_every_tool_and_every_command() {
    use clap::CommandFactory as _;
    for command in recalld::cli::Arguments::command().get_subcommands() {
        assert!(
            README.contains(&format!("`{}", command.get_name()))
                || README.contains(&format!("recalld {}", command.get_name())),
            "{}",
            command.get_name()
        );
    }
    let tools =
        recalld::mcp::offline_answer("tools/list", None, recalld::mcp::Toolset::Full).unwrap();
    for tool in tools["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(README.contains(&format!("| `{name}` |")), "{name}");
    }
}
