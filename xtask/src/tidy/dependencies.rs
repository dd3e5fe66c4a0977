//! Dependencies point one way: adapters to agui-encoder, agui-encoder to agui-core, and nothing back.
//!
//! What a crate is free of is read from `cargo tree`, over normal dependencies with every feature on, so that neither
//! a feature nor a dependency of a dependency brings in what a layer has no business knowing.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, bail};

use super::Finding;
use crate::ci::cargo;

/// What may not be among a crate's dependencies.
struct Rule {
    package: &'static str,
    banned: &'static [&'static str],
    /// Features of tokio that may not be on.
    banned_of_tokio: &'static [&'static str],
}

const RULES: &[Rule] = &[
    // Neither HTTP nor a clock nor a runtime.
    Rule {
        package: "agui-core",
        banned: &[
            "http",
            "hyper",
            "axum",
            "actix-web",
            "warp",
            "chrono",
            "time",
            "jiff",
            "web-time",
            "agui-encoder",
            "agui-schema",
        ],
        banned_of_tokio: &["time", "rt", "rt-multi-thread", "net"],
    },
    Rule {
        package: "agui-encoder",
        banned: &["axum", "actix-web", "warp", "hyper", "agui-schema"],
        banned_of_tokio: &["net"],
    },
    Rule { package: "agui-axum", banned: &["actix-web", "warp", "agui-schema"], banned_of_tokio: &[] },
    Rule { package: "agui-actix", banned: &["axum", "warp", "agui-schema"], banned_of_tokio: &[] },
    Rule { package: "agui-warp", banned: &["axum", "actix-web", "agui-schema"], banned_of_tokio: &[] },
    // A store knows neither a wire nor a framework.
    Rule {
        package: "agui-redis",
        banned: &["http", "axum", "actix-web", "warp", "agui-encoder", "agui-schema"],
        banned_of_tokio: &[],
    },
    Rule {
        package: "agui-client",
        banned: &["axum", "actix-web", "warp", "agui-schema"],
        banned_of_tokio: &[],
    },
    Rule {
        package: "agui-schema",
        banned: &["agui-core", "agui-encoder", "agui-axum", "agui-actix", "agui-warp", "tokio"],
        banned_of_tokio: &[],
    },
];

/// Looks through the dependencies of every crate that has a rule.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for rule in RULES {
        findings.extend(breaches(rule, &tree(root, rule.package)?));
    }
    Ok(findings)
}

/// One line per dependency: its name, a bar, its features.
fn tree(root: &Path, package: &str) -> anyhow::Result<String> {
    let output = Command::new(cargo())
        .args(["tree", "--package", package, "--edges", "normal", "--all-features"])
        .args(["--prefix", "none", "--format", "{p}|{f}"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo tree failed for {package}");
    }
    String::from_utf8(output.stdout).context("cargo tree gave no text")
}

fn breaches(rule: &Rule, tree: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for line in tree.lines() {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split_whitespace().next().unwrap_or_default();
        if rule.banned.contains(&name) {
            found.push(format!("may not depend on {name}"));
        }
        if name == "tokio" {
            // A repeated dependency ends in ` (*)`.
            let features = features.trim_end_matches("(*)").split(',').map(str::trim);
            let banned = features.filter(|feature| rule.banned_of_tokio.contains(feature));
            found.extend(banned.map(|feature| format!("may not turn on the feature {feature} of tokio")));
        }
    }
    found.sort();
    found.dedup();
    found.into_iter().map(|message| Finding::of_file(rule.package, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(package: &str) -> &'static Rule {
        RULES.iter().find(|rule| rule.package == package).unwrap()
    }

    fn found(package: &str, tree: &str) -> Vec<String> {
        breaches(rule(package), tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_banned_dependency_is_found_once_however_often_it_occurs() {
        let tree =
            "agui-core v0.1.0 (x)|default\nserde v1.0.0|std\nhttp v1.5.0|\nbytes v1.0.0|\nhttp v1.5.0| (*)\n";
        assert_eq!(found("agui-core", tree), ["agui-core: may not depend on http"]);
        assert_eq!(found("agui-encoder", tree), [""; 0]);
    }

    #[test]
    fn names_are_compared_whole() {
        assert_eq!(found("agui-core", "http-body v1.0.0|\ntokio-util v0.7.0|time\n"), [""; 0]);
    }

    #[test]
    fn a_runtime_in_the_core_is_found_by_the_features_of_tokio() {
        let tree = "tokio v1.54.0|default,rt,sync (*)\ntokio v1.54.0|default,rt,sync,time\n";
        assert_eq!(
            found("agui-core", tree),
            [
                "agui-core: may not turn on the feature rt of tokio",
                "agui-core: may not turn on the feature time of tokio",
            ]
        );
        assert_eq!(found("agui-core", "tokio v1.54.0|sync\n"), [""; 0]);
    }

    #[test]
    fn an_adapter_knows_no_other_framework() {
        assert_eq!(found("agui-warp", "axum v0.8.9|\nwarp v0.4.0|\n"), ["agui-warp: may not depend on axum"]);
    }
}
