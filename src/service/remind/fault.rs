//! Places between two steps of a delivery at which a test can end the process.

/// Ends the process, without any last words, if the environment asks for it here: in builds with debug
/// assertions `RECALLD_FAULT_POINT` names a point. Other builds have no such hook.
pub(super) fn point(name: &str) {
    #[cfg(debug_assertions)]
    if std::env::var_os("RECALLD_FAULT_POINT").is_some_and(|asked| asked == name) {
        std::process::abort();
    }
    #[cfg(not(debug_assertions))]
    let _: &str = name;
}
