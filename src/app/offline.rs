//! Commands that work on files, without a daemon: `verify` and `restore`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::engine::INDEX_DIR;
use crate::cli::{self, Fault};
use crate::clock::SystemClock;
use crate::config::Loaded;
use crate::domain::id::IdReference;
use crate::ports::{Backup, Clock as _};
use crate::store::{
    Forgets, OpenError, RestoreError, Restored, StoreSettings, restore_backup, verify_backup,
};

/// Proves a backup, which is not changed; says what is wrong with it.
pub(super) fn verify(file: &Path, json: bool) -> ExitCode {
    match verify_backup(file) {
        Ok(backup) if json => {
            let mut answer = described(&backup);
            answer.insert("sound".to_owned(), true.into());
            cli::say(&format!("{:#}", Value::Object(answer)));
            ExitCode::SUCCESS
        }
        Ok(backup) => {
            cli::say(&format!("{} is sound: {}", file.display(), summary(&backup)));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            if json {
                let answer = json!({
                    "path": file.to_string_lossy(), "sound": false, "because": reason,
                });
                cli::say(&format!("{answer:#}"));
            }
            let problem = format!("{} is not sound: {reason}", file.display());
            cli::fail(Fault::Failed, &problem, json)
        }
    }
}

/// Puts a backup in the place of the store.
pub(super) fn restore(loaded: &Loaded, file: &Path, json: bool) -> ExitCode {
    let is_id = file.to_str().is_some_and(|text| text.parse::<IdReference>().is_ok());
    if is_id && !file.exists() {
        let name = file.display();
        let problem = format!(
            "there is no file `{name}`; to bring back a forgotten memory say `recalld unforget {name}`"
        );
        return cli::fail(Fault::Usage, &problem, json);
    }
    let settings = StoreSettings { cache_bytes: loaded.config.store.cache_bytes };
    let dir = &loaded.state_dir.path;
    // The store keeps in mind where it came from.
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    match restore_backup(dir, &whole, &[INDEX_DIR], settings, SystemClock::new().now()) {
        Ok(restored) => {
            if json {
                cli::say(&format!("{:#}", answer(&restored)));
            } else {
                tell(file, &restored);
            }
            ExitCode::SUCCESS
        }
        Err(error) => cli::fail(Fault::Failed, &explained(&error), json),
    }
}

/// What is wrong, and what to do about it.
fn explained(error: &RestoreError) -> String {
    match error {
        RestoreError::Directory(OpenError::InUse { pid, .. }) => {
            let kill = pid.map(|pid| format!(" or `kill {pid}`")).unwrap_or_default();
            format!(
                "{error}: stop it first (`systemctl --user stop recalld`{kill}), restore, and start it again"
            )
        }
        RestoreError::Directory(_)
        | RestoreError::Backup { .. }
        | RestoreError::File { .. }
        | RestoreError::Copy { .. } => format!("{error}; the store is as it was"),
    }
}

fn tell(file: &Path, restored: &Restored) {
    let Restored { backup, kept_as, forgets } = restored;
    cli::say(&format!("restored {}: {}", file.display(), summary(backup)));
    match forgets {
        Forgets::NoStore => {}
        Forgets::Applied(n_applied) => {
            cli::say(&format!("forgotten again, as they were since then: {n_applied}"));
        }
        Forgets::Unknown(reason) => cli::say(&format!(
            "the store that was there cannot be read ({reason}): memories that were forgotten since then are back"
        )),
    }
    if let Some(kept) = kept_as {
        cli::say(&format!("the store that was there is kept as {}", kept.display()));
    }
    cli::say("the indexes are made anew when the daemon starts");
}

fn summary(backup: &Backup) -> String {
    format!("{} memories as of {}", backup.n_memories, backup.created_at)
}

fn described(backup: &Backup) -> Map<String, Value> {
    let facts = [
        ("path", json!(backup.path.to_string_lossy())),
        ("created_at", json!(backup.created_at.to_string())),
        ("n_bytes", json!(backup.n_bytes)),
        ("n_memories", json!(backup.n_memories)),
        ("n_forgotten", json!(backup.n_forgotten)),
    ];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn answer(restored: &Restored) -> Value {
    let mut answer = described(&restored.backup);
    if let Some(kept) = &restored.kept_as {
        answer.insert("kept_as".to_owned(), json!(kept.to_string_lossy()));
    }
    let (name, value) = match &restored.forgets {
        Forgets::NoStore => ("n_forgotten_again", json!(0)),
        Forgets::Applied(n_applied) => ("n_forgotten_again", json!(n_applied)),
        Forgets::Unknown(reason) => ("forgets_unknown", json!(reason)),
    };
    answer.insert(name.to_owned(), value);
    Value::Object(answer)
}
