//! What a process that only waits keeps in memory.
#![expect(unsafe_code, reason = "dl_iterate_phdr, madvise and malloc_trim have no safe wrapper")]

/// Gives back what this process can get again without noticing: the pages of the program itself, which the kernel still
/// has, and memory that is not in use. A process that is about to wait for long calls it once; whatever it needs
/// afterwards comes back page by page.
pub fn shrink() {
    // SAFETY: the callback has the type that the call expects, and takes no data.
    unsafe { libc::dl_iterate_phdr(Some(let_go), std::ptr::null_mut()) };
    // SAFETY: the call takes a number and touches nothing that is in use.
    unsafe { libc::malloc_trim(0) };
}

/// Lets go of the segments of one object that are never written to, not even by the loader: what is in memory there is
/// what is in the file.
unsafe extern "C" fn let_go(
    object: *mut libc::dl_phdr_info,
    _: libc::size_t,
    _: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the C library hands a description that is valid during this call.
    let object = unsafe { &*object };
    if object.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the description says where the headers are and how many; they belong to the loaded object.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    for segment in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        if segment.p_flags & libc::PF_W != 0 {
            continue;
        }
        let page = rustix::param::page_size() as u64;
        let start = (object.dlpi_addr + segment.p_vaddr) & !(page - 1);
        let end = (object.dlpi_addr + segment.p_vaddr + segment.p_memsz) & !(page - 1);
        // SAFETY: these are whole pages of a private mapping of the program's file in which nothing was ever written,
        // so dropping them changes nothing that can be read there. An error leaves them where they are.
        unsafe { libc::madvise(start as *mut libc::c_void, (end - start) as usize, libc::MADV_DONTNEED) };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_goes_on_with_less_memory() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("a status");
            let line = status.lines().find(|line| line.starts_with("RssFile:")).expect("a line").to_owned();
            line.split_ascii_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number")
        };
        let before = resident();
        shrink();
        let after = resident();
        assert!(after < before, "{after} kB of {before}");
        assert_eq!(format!("{:?}", [1, 2]), "[1, 2]");
    }
}
