//! Brace expansion, which happens before everything else.

/// A piece of a word in which braces are looked for: one unquoted character, or something opaque.
#[derive(Clone, Debug)]
pub(crate) enum Piece<T> {
    Character(char),
    Opaque(T),
}

const MOST: usize = 256;

/// All words that a word with braces stands for; more than a few hundred are cut, the first ones stay.
pub(crate) fn expand<T: Clone>(pieces: &[Piece<T>]) -> Vec<Vec<Piece<T>>> {
    let Some((start, end)) = group(pieces) else { return vec![pieces.to_vec()] };
    let alternatives = alternatives(&pieces[start + 1..end]);
    let tails = expand(&pieces[end + 1..]);
    let mut words = Vec::new();
    for alternative in alternatives {
        for inner in expand(&alternative) {
            for tail in &tails {
                if words.len() >= MOST {
                    return words;
                }
                let mut word = pieces[..start].to_vec();
                word.extend(inner.iter().cloned());
                word.extend(tail.iter().cloned());
                words.push(word);
            }
        }
    }
    words
}

fn is<T>(piece: &Piece<T>, wanted: char) -> bool {
    matches!(piece, Piece::Character(character) if *character == wanted)
}

/// The first brace group with a comma or a range in it.
fn group<T: Clone>(pieces: &[Piece<T>]) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(start) = (from..pieces.len()).find(|&at| is(&pieces[at], '{')) {
        let mut depth = 0usize;
        for at in start..pieces.len() {
            if is(&pieces[at], '{') {
                depth += 1;
            } else if is(&pieces[at], '}') {
                depth -= 1;
                if depth == 0 {
                    let inside = &pieces[start + 1..at];
                    if commas(inside).next().is_some() || range(inside).is_some() {
                        return Some((start, at));
                    }
                    break;
                }
            }
        }
        from = start + 1;
    }
    None
}

fn commas<T>(pieces: &[Piece<T>]) -> impl Iterator<Item = usize> + '_ {
    let mut depth = 0usize;
    pieces.iter().enumerate().filter_map(move |(at, piece)| {
        if is(piece, '{') {
            depth += 1;
        } else if is(piece, '}') {
            depth = depth.saturating_sub(1);
        }
        (depth == 0 && is(piece, ',')).then_some(at)
    })
}

fn alternatives<T: Clone>(inside: &[Piece<T>]) -> Vec<Vec<Piece<T>>> {
    let mut words = Vec::new();
    let mut from = 0;
    for comma in commas(inside) {
        words.push(inside[from..comma].to_vec());
        from = comma + 1;
    }
    if from == 0
        && let Some(range) = range(inside)
    {
        return range.into_iter().map(|word| word.chars().map(Piece::Character).collect()).collect();
    }
    words.push(inside[from..].to_vec());
    words
}

fn range<T>(inside: &[Piece<T>]) -> Option<Vec<String>> {
    let text: String = inside
        .iter()
        .map(|piece| match piece {
            Piece::Character(character) => Some(*character),
            Piece::Opaque(_) => None,
        })
        .collect::<Option<_>>()?;
    let mut ends = text.split("..");
    let (first, last) = (ends.next()?, ends.next()?);
    let step = ends.next().map_or(Some(1), |step| step.parse::<i64>().ok())?.unsigned_abs().max(1);
    let step = usize::try_from(step).ok()?;
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let (low, high) = (first.min(last), first.max(last));
        let mut numbers: Vec<i64> = (low..=high).step_by(step).take(MOST).collect();
        if first > last {
            numbers.reverse();
        }
        return Some(numbers.into_iter().map(|number| number.to_string()).collect());
    }
    let (mut first, mut last) = (first.chars(), last.chars());
    let (Some(low), None, Some(high), None) = (first.next(), first.next(), last.next(), last.next()) else {
        return None;
    };
    let letters: Vec<char> = if low <= high { (low..=high).collect() } else { (high..=low).rev().collect() };
    Some(letters.into_iter().step_by(step).take(MOST).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Vec<String> {
        let pieces: Vec<Piece<()>> = text.chars().map(Piece::Character).collect();
        expand(&pieces)
            .into_iter()
            .map(|word| {
                word.into_iter()
                    .map(|piece| match piece {
                        Piece::Character(character) => character,
                        Piece::Opaque(()) => '?',
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn expands_like_bash() {
        assert_eq!(expanded("{rm,-rf,/}"), ["rm", "-rf", "/"]);
        assert_eq!(expanded("/{etc,u{sr,tmp}}"), ["/etc", "/usr", "/utmp"]);
        assert_eq!(expanded("{1..3}{a,b}"), ["1a", "1b", "2a", "2b", "3a", "3b"]);
        assert_eq!(expanded("{a}"), ["{a}"]);
        assert_eq!(expanded("{r,}m"), ["rm", "m"]);
    }
}
