//! Lists of names that are asked about every word of every command. Nearly every answer is no, and a look at three numbers
//! gives it without comparing a letter.

/// Names, with a filter over them: by the first letter, the last and the length.
pub(crate) struct Names {
    list: &'static [&'static str],
    filter: [u64; FILTER],
    /// Where a name is in the list, plus one, at the place of its sum or right behind; zero for none.
    slots: [u8; SLOTS],
}

/// How wide a filter is: wide enough for the longest lists to leave most of it empty.
const FILTER: usize = 16;

/// Room for the longest list, twice over.
const SLOTS: usize = 256;

const fn sum(name: &[u8]) -> usize {
    if name.is_empty() {
        return 0;
    }
    name[0] as usize * 3 + name[name.len() - 1] as usize * 23 + name.len() * 61
}

const fn place(name: &[u8]) -> (usize, u64) {
    let sum = sum(name);
    (sum / 64 % FILTER, 1 << (sum % 64))
}

impl Names {
    pub const fn of(list: &'static [&'static str]) -> Self {
        assert!(list.len() <= SLOTS / 2, "a longer list needs more slots");
        let (mut slots, mut at) = ([0; SLOTS], 0);
        while at < list.len() {
            let mut slot = sum(list[at].as_bytes()) % SLOTS;
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            at += 1;
            slots[slot] = at as u8;
        }
        Self { list, filter: [0; FILTER], slots }.and(list)
    }

    /// The same with more names in the filter, of which [`Self::contains`] knows nothing: for several lists at once.
    pub const fn and(mut self, list: &[&str]) -> Self {
        let mut at = 0;
        while at < list.len() {
            let (word, bit) = place(list[at].as_bytes());
            self.filter[word] |= bit;
            at += 1;
        }
        self
    }

    #[inline]
    pub fn contains(&self, name: &str) -> bool {
        self.may_contain(name.as_bytes()) && self.has(name)
    }

    fn has(&self, name: &str) -> bool {
        let mut slot = sum(name.as_bytes()) % SLOTS;
        while let Some(at) = usize::from(self.slots[slot]).checked_sub(1) {
            if self.list[at] == name {
                return true;
            }
            slot = (slot + 1) % SLOTS;
        }
        false
    }

    /// Whether a name has to be looked for at all.
    #[inline]
    pub fn may_contain(&self, name: &[u8]) -> bool {
        let (word, bit) = place(name);
        self.filter[word] & bit != 0
    }
}

/// The letters of a text as a set: one in which a letter is missing does not contain the other. Small and capital letters
/// are one, so that it serves for both ways of comparing; what is beyond ASCII is left out.
pub(crate) const fn letters(text: &[u8]) -> u128 {
    let (mut set, mut at) = (0, 0);
    while at < text.len() {
        let byte = text[at].to_ascii_lowercase();
        if byte < 128 {
            set |= 1 << byte;
        }
        at += 1;
    }
    set
}

/// What follows the last slash of a path; all of it where there is none. Searches of the standard library prepare for
/// longer texts than paths are.
pub(crate) fn last_part(path: &str) -> &str {
    path.bytes().rposition(|byte| byte == b'/').map_or(path, |at| &path[at + 1..])
}

/// Whether a short text contains another, for the same reason.
pub(crate) fn contains(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let Some(first) = wanted.first() else { return true };
    text.iter().enumerate().any(|(at, byte)| byte == first && text[at..].starts_with(wanted))
}

/// The words of a call as texts. Few calls have many, and for the others nothing is allocated.
pub(crate) struct Few<'w> {
    few: [&'w str; 12],
    count: usize,
    /// All of them, where there are more.
    many: Vec<&'w str>,
}

impl<'w> FromIterator<&'w str> for Few<'w> {
    fn from_iter<I: IntoIterator<Item = &'w str>>(words: I) -> Self {
        let mut all = Self { few: [""; 12], count: 0, many: Vec::new() };
        for word in words {
            match all.few.get_mut(all.count) {
                Some(place) => *place = word,
                None if all.many.is_empty() => all.many.extend(all.few.into_iter().chain([word])),
                None => all.many.push(word),
            }
            all.count += 1;
        }
        all
    }
}

impl<'w> Few<'w> {
    pub fn as_slice(&self) -> &[&'w str] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }
}

impl<'w> std::ops::Deref for Few<'w> {
    type Target = [&'w str];

    fn deref(&self) -> &Self::Target {
        self.as_slice()
    }
}

/// Texts that are looked for within others, each with its letters.
pub(crate) struct Needles<const COUNT: usize> {
    all: [(&'static str, u128); COUNT],
}

impl<const COUNT: usize> Needles<COUNT> {
    pub const fn of(list: [&'static str; COUNT]) -> Self {
        let mut all = [("", 0); COUNT];
        let mut at = 0;
        while at < COUNT {
            all[at] = (list[at], letters(list[at].as_bytes()));
            at += 1;
        }
        Self { all }
    }

    /// Whether one of them is in a text, of which these are the letters.
    pub fn any_in(&self, text: &str, of: u128) -> bool {
        self.all.iter().any(|(needle, wanted)| wanted & !of == 0 && text.contains(needle))
    }
}

#[cfg(test)]
mod tests {
    use super::{Few, Names, Needles, letters};

    #[test]
    fn few_words_and_many_are_kept_alike() {
        for count in 0..40 {
            let words: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            let few: Few<'_> = words.iter().map(String::as_str).collect();
            assert_eq!(few.to_vec(), words);
        }
    }

    #[test]
    fn a_filter_changes_no_answer() {
        const LIST: &[&str] = &["", "a", "rm", "--force", "delete-all", "é"];
        static NAMES: Names = Names::of(LIST);
        for name in LIST {
            assert!(NAMES.contains(name), "{name}");
        }
        for name in ["b", "mr", "rn", "-force", "delete_all", "è"] {
            assert!(!NAMES.contains(name), "{name}");
        }
        static NEEDLES: Needles<3> = Needles::of(["token", "api_key", "ß"]);
        let found = |text: &str| NEEDLES.any_in(text, letters(text.as_bytes()));
        assert!(found("my token") && found("api_key=1") && found("aßb"));
        assert!(!found("toke n") && !found("api key") && !found(""));
    }
}
