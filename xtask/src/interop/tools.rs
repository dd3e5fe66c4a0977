//! What the suites need from package registries: installed once, and again when the list of it changes.
//!
//! A copy of the list beside what was installed says that the installation was completed; without it, or with another
//! one, everything is installed anew.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use super::must_pass;

/// Installs the npm packages of the lock file.
pub(super) fn install_node_packages(suites: &Path) -> anyhow::Result<()> {
    let list = suites.join("package-lock.json");
    let stamp = suites.join("node_modules/.installed-lock");
    once(&list, &stamp, || {
        println!("==> npm ci");
        must_pass(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(suites))
    })
}

/// Installs the Python packages into a virtual environment and returns its interpreter.
pub(super) fn install_python_packages(suites: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let list = suites.join("requirements.txt");
    let environment = target.join("interop-venv");
    let python = environment.join("bin/python");
    once(&list, &environment.join("installed-requirements.txt"), || {
        println!("==> pip install -r requirements.txt");
        must_pass(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        must_pass(Command::new(&python).args(pip).arg(&list))
    })?;
    Ok(python)
}

/// Installs unless the stamp says that this very list has been installed.
fn once(list: &Path, stamp: &Path, install: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let wanted = fs::read(list).with_context(|| format!("cannot read {}", list.display()))?;
    if fs::read(stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    fs::write(stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;

    use super::*;
    use crate::{interop::target_dir, workspace_root};

    #[test]
    fn an_installation_is_repeated_only_when_its_list_changed_or_it_failed() {
        let folder = target_dir(&workspace_root().unwrap()).join("interop-tests/once");
        fs::create_dir_all(&folder).unwrap();
        let (list, stamp) = (folder.join("list"), folder.join("stamp"));
        let _ = fs::remove_file(&stamp);
        let mut installed = 0;
        let mut install = |content: &str| {
            fs::write(&list, content).unwrap();
            once(&list, &stamp, || {
                installed += 1;
                ensure!(content != "broken", "no network");
                Ok(())
            })
            .is_ok()
        };
        assert!(install("a"));
        assert!(install("a"));
        assert!(install("b"));
        assert!(!install("broken"));
        assert!(!install("broken"));
        assert_eq!(installed, 4);
    }
}
