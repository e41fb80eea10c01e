//! From root to the user, and the check that it happened.

use cofferdam_linux_sys::bare::{self, Errno, Identities};

use crate::accounts::Account;
use crate::failure::Failure;

/// Each step makes the next one possible, and after the last nothing of root is left:
///
/// 1. the bounding set, while there is the capability for it: no file capability can give anything back;
/// 2. the groups, while there is the capability for it;
/// 3. group and user, real, effective and saved: root cannot be taken up again;
/// 4. what a container with odd securebits may have left: ambient and other capabilities;
/// 5. set-user-ID bits of files: they raise nothing any more.
pub fn the_user(account: &Account, mask: u32) -> Result<(), Failure> {
    take_terminals_along(account);
    let bounded = bare::bounding_capabilities_dropped();
    bare::set_groups(&account.groups).map_err(|error| refused("set the groups", account, error))?;
    bare::set_identities(account.user, account.group)
        .map_err(|error| refused("set the user", account, error))?;
    let cleared =
        bare::capabilities_cleared().map_err(|error| refused("give up capabilities", account, error))?;
    bare::no_new_privileges().map_err(|error| refused("give up new privileges", account, error))?;
    bare::change_mask(mask);
    // Where the bounding set could not be emptied, the fifth step makes it meaningless.
    let _ = bounded;
    if cleared && is(account) {
        Ok(())
    } else {
        Err(refused("become the user for good", account, Errno::PERMITTED))
    }
}

/// A caller who is not root stays who he is: an effective or saved number that a bit on the shim's file gave is given
/// back, and nothing else is changed.
pub fn without_raised_identity(caller: Identities) -> Result<(), Failure> {
    let groups = bare::group_identities().map_err(|error| Failure::kernel("ask who is calling", error))?;
    if caller.are(caller.real) && groups.are(groups.real) {
        return Ok(());
    }
    bare::set_identities(caller.real, groups.real)
        .map_err(|error| Failure::kernel("give back what a bit on its file gave", error))
}

/// Whether all identities are the user's, and root cannot be taken up again.
fn is(account: &Account) -> bool {
    let user = bare::user_identities().is_ok_and(|user| user.are(account.user));
    let group = bare::group_identities().is_ok_and(|group| group.are(account.group));
    user && group && bare::set_identities(0, 0).is_err()
}

/// A terminal that root was given is the user's from now on, as after a login: `/dev/tty` and `/dev/stdout` can be
/// opened. Nothing else that root has open is given away.
fn take_terminals_along(account: &Account) {
    for stream in (0..3).filter(|stream| bare::is_terminal(*stream)) {
        // The tool can use the descriptor in any case.
        let _ = bare::give_to(stream, account.user);
    }
}

fn refused(what: &str, account: &Account, error: Errno) -> Failure {
    let sentence = [
        "privileges cannot be dropped to the user ",
        &account.name,
        ": could not ",
        what,
        ": ",
        error.words(),
    ];
    Failure::new(
        &sentence.concat(),
        "give the container the capabilities SETUID and SETGID (--cap-add), and map the user if the engine is rootless; \
         or call the tool as that user: docker exec --user",
    )
}
