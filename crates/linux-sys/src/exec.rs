//! The end of a launch: this process becomes the program.
#![expect(unsafe_code, reason = "execve takes arrays of pointers")]

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;

use cofferdam_policy::environment::ChildEnvironment;

/// Everything that [`exec`] needs, made before rights are given up, because making it allocates.
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
        Ok(Self { arguments: arguments.collect::<Result<_, _>>()?, variables: variables.collect::<Result<_, _>>()? })
    }
}

/// Replaces this process by the program at `path`; returns only if that failed.
pub fn exec(path: &CStr, image: &Image) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, variables) = (pointers(&image.arguments), pointers(&image.variables));
    // SAFETY: both arrays end with a null pointer and point to C strings that `image` keeps alive.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
    io::Error::last_os_error()
}
