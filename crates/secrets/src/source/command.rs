//! A command that prints a secret.

use std::time::Duration;

use cofferdam_linux_sys::child::{ChildCommand, Keep, Limits, Program, run_captured};
use cofferdam_policy::environment::ChildEnvironment;
use zeroize::Zeroizing;

use super::{SourceError, without_line_end};
use crate::secret::MAX_LENGTH;

/// Runs the command with this environment and no other. Its standard error goes nowhere: tools print the value
/// there in their debug modes, and what was never read cannot be shown.
pub(crate) fn read<S: AsRef<str>>(
    argv: &[S],
    timeout: Duration,
    environment: &ChildEnvironment,
) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let (program, arguments) = argv.split_first().ok_or(SourceError::EmptyCommand)?;
    let named = Program::new(program.as_ref()).map_err(|cause| SourceError::Command { cause })?;
    let command = ChildCommand::new(named, environment).args(arguments.iter().map(AsRef::as_ref));
    // Room for a value of the greatest length and its line end.
    let limits = Limits { timeout, stdout: Keep::UpTo(MAX_LENGTH + 2), stderr: Keep::Nothing };
    let captured = run_captured(command, limits).map_err(|cause| SourceError::Command { cause })?;
    let program = program.as_ref().to_owned();
    if captured.stdout.truncated {
        return Err(SourceError::CommandTooLong { program, limit: MAX_LENGTH });
    }
    if !captured.status.success() {
        return Err(SourceError::CommandFailed { program, ended: captured.status });
    }
    Ok(without_line_end(captured.stdout.bytes))
}

#[cfg(test)]
mod tests {
    use cofferdam_linux_sys::child::{ChildError, Ended};

    use super::*;

    fn shell(script: &str, timeout: Duration) -> Result<Vec<u8>, SourceError> {
        read(&["/bin/sh", "-c", script], timeout, &ChildEnvironment::empty()).map(|value| value.to_vec())
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn what_it_prints_is_the_value_without_its_line_end() {
        assert_eq!(shell("echo sk-canary", LONG).ok().as_deref(), Some(&b"sk-canary"[..]));
        assert_eq!(shell("printf sk-canary", LONG).ok().as_deref(), Some(&b"sk-canary"[..]));
    }

    #[test]
    fn req_e10_a_failure_says_how_and_nothing_that_was_printed() {
        let script = "echo sk-canary; echo sk-canary >&2; exit 7";
        let error = shell(script, LONG).expect_err("it fails");
        assert!(matches!(error, SourceError::CommandFailed { ended: Ended::Exited(7), .. }));
        assert_eq!(error.to_string(), "/bin/sh exited with 7");
        assert!(!format!("{error:?}{error}{:?}", error.hint()).contains("canary"));
    }

    #[test]
    fn too_much_too_slow_and_not_there_are_told_apart() {
        assert!(matches!(
            shell("while :; do echo sk-canary; done", LONG),
            Err(SourceError::CommandTooLong { .. })
        ));
        assert!(matches!(
            shell("while :; do :; done", Duration::from_millis(50)),
            Err(SourceError::Command { cause: ChildError::TimedOut { .. } })
        ));
        let environment = ChildEnvironment::empty();
        assert!(matches!(
            read(&["/nowhere/tool"], LONG, &environment),
            Err(SourceError::Command { cause: ChildError::NotFound { .. } })
        ));
        assert!(matches!(read::<&str>(&[], LONG, &environment), Err(SourceError::EmptyCommand)));
    }
}
