//! The end of a launch: this process becomes the program.
#![expect(unsafe_code, reason = "execve takes arrays of pointers")]

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use cofferdam_policy::environment::ChildEnvironment;

/// The arguments and the environment of a program. It is made from a [`ChildEnvironment`] or from the bytes of
/// another image, so whatever starts has an environment that was built by the rules.
///
/// It has no `Debug`: the environment may hold a credential by explicit wish.
pub struct Image {
    arguments: Vec<CString>,
    variables: Vec<CString>,
}

impl Image {
    pub fn new<A: AsRef<OsStr>>(arguments: &[A], environment: &ChildEnvironment) -> io::Result<Self> {
        let arguments = arguments.iter().map(|argument| CString::new(argument.as_ref().as_bytes()));
        let variables = environment
            .iter()
            .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
        Ok(Self {
            arguments: arguments.collect::<Result<_, _>>()?,
            variables: variables.collect::<Result<_, _>>()?,
        })
    }

    /// The same program name and environment rules, but variables that a program inside a sandbox has exported for
    /// the next one in that same sandbox. Strings with a zero byte in them cannot be handed over and are refused.
    pub fn of_session(arguments: &[Vec<u8>], variables: &[Vec<u8>]) -> io::Result<Self> {
        let strings =
            |strings: &[Vec<u8>]| strings.iter().map(|string| CString::new(string.as_slice())).collect();
        let (arguments, variables): (Result<_, _>, Result<_, _>) = (strings(arguments), strings(variables));
        Ok(Self { arguments: arguments?, variables: variables? })
    }

    /// The image as bytes, for the way to the process that will start it: the number of arguments, then every
    /// string with its end.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((self.arguments.len() as u64).to_ne_bytes());
        for string in self.arguments.iter().chain(&self.variables) {
            bytes.extend(string.as_bytes_with_nul());
        }
        bytes
    }

    /// The inverse of [`Image::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        let broken = || io::Error::other("the bytes are no image of a program");
        let (count, strings) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
        let count = usize::try_from(u64::from_ne_bytes(*count)).map_err(|_| broken())?;
        let mut arguments: Vec<CString> = strings
            .split_inclusive(|&byte| byte == 0)
            .map(|string| CStr::from_bytes_with_nul(string).map(CStr::to_owned).map_err(|_| broken()))
            .collect::<Result<_, _>>()?;
        if count > arguments.len() {
            return Err(broken());
        }
        let variables = arguments.split_off(count);
        Ok(Self { arguments, variables })
    }

    /// Puts a place of the sandbox's own into a variable, whatever was in it.
    pub fn point(&mut self, name: &str, place: &std::path::Path) -> io::Result<()> {
        let variable = CString::new([name.as_bytes(), b"=", place.as_os_str().as_bytes()].concat())?;
        self.variables.retain(|variable| {
            !variable.as_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        });
        self.variables.push(variable);
        Ok(())
    }

    /// The environment, each variable as `NAME=VALUE`.
    pub fn variables(&self) -> impl Iterator<Item = &CStr> {
        self.variables.iter().map(CString::as_c_str)
    }

    /// The program's name: the first argument.
    pub fn program(&self) -> Option<&CStr> {
        self.arguments.first().map(CString::as_c_str)
    }

    pub fn variable(&self, name: &str) -> Option<&[u8]> {
        self.variables
            .iter()
            .find_map(|variable| variable.as_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }
}

/// Replaces this process by the program at `path`; returns only if that failed.
pub fn exec(path: &CStr, image: &Image) -> io::Error {
    let (arguments, variables) = (pointers(&image.arguments), pointers(&image.variables));
    // SAFETY: both arrays end with a null pointer and point to C strings that `image` keeps alive.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
    io::Error::last_os_error()
}

/// Replaces this process by the program in an open file, whatever its name leads to by now; returns only if that
/// failed. Not for a script: its interpreter would get the descriptor for a name.
pub fn exec_opened(program: BorrowedFd<'_>, image: &Image) -> io::Error {
    let (arguments, variables) = (pointers(&image.arguments), pointers(&image.variables));
    // SAFETY: as above; the path is an empty C string, and with AT_EMPTY_PATH the descriptor is what is meant.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            arguments.as_ptr(),
            variables.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
