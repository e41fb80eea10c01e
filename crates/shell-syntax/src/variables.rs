//! The variables of a shell, and the way back to what they were when a subshell ends.
//!
//! A subshell sees all variables and changes none of those outside. Copying them at its start made a script of many
//! variables and many `$(…)` take the square of its length, so what a subshell overwrites is put aside instead, once.

use std::collections::BTreeMap;

use crate::Word;
use crate::files::Map;

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(Word),
    List(Vec<Word>),
    Map(BTreeMap<String, Word>),
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub value: Value,
    pub names_another: bool,
    /// Where the value is not known and one of these.
    pub values: Vec<Word>,
    /// Set by a branch that may not have run.
    pub perhaps_unset: bool,
}

impl From<Value> for Variable {
    fn from(value: Value) -> Self {
        Self { value, names_another: false, values: Vec::new(), perhaps_unset: false }
    }
}

#[derive(Debug, Default)]
struct Slot {
    variable: Option<Variable>,
    /// The subshell that has put its own copy aside already, by its number; zero for none.
    saved_for: usize,
}

#[derive(Debug)]
struct Before {
    name: String,
    slot: Slot,
}

/// Variables by name.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    slots: Map<Slot>,
    aside: Vec<Before>,
    /// The subshells that have not ended, each with its number and where its part of `aside` begins.
    open: Vec<(usize, usize)>,
    subshells: usize,
}

impl Variables {
    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.slots.get(name)?.variable.as_ref()
    }

    pub fn insert(&mut self, name: &str, variable: impl Into<Variable>) {
        self.slot(name, Keep::Nothing).variable = Some(variable.into());
    }

    pub fn remove(&mut self, name: &str) {
        if self.slots.contains_key(name) {
            self.slot(name, Keep::Nothing).variable = None;
        }
    }

    /// The variable itself, to be changed in place; an empty list when there is none.
    pub fn change(&mut self, name: &str) -> &mut Variable {
        let variable = &mut self.slot(name, Keep::Value).variable;
        let variable = variable.get_or_insert_with(|| Value::List(Vec::new()).into());
        variable.values.clear();
        variable
    }

    pub fn enter_subshell(&mut self) {
        self.subshells += 1;
        self.open.push((self.subshells, self.aside.len()));
    }

    pub fn leave_subshell(&mut self) {
        let Some((_, start)) = self.open.pop() else { return };
        for before in self.aside.drain(start..).rev() {
            self.slots.insert(before.name, before.slot);
        }
    }

    /// Ends what `enter_subshell` began, but keeps what was set since, joined with what was there before: whether anything differs from before, and whether
    /// any of that is more than a list.
    pub fn keep_since(&mut self, join: impl Fn(&str, &Value, Value) -> Value) -> (bool, bool) {
        let Some((_, start)) = self.open.pop() else { return (false, false) };
        let outer = self.open.last().map(|&(number, _)| number);
        let (mut any, mut single) = (false, false);
        for before in self.aside.split_off(start) {
            let Some(slot) = self.slots.get_mut(&before.name) else { continue };
            if !alike(slot.variable.as_ref(), before.slot.variable.as_ref())
                && let (Some(now), Some(outside)) = (&mut slot.variable, &before.slot.variable)
            {
                let value = std::mem::replace(&mut now.value, Value::List(Vec::new()));
                now.value = join(&before.name, &outside.value, value);
                now.values.clear();
            }
            if !alike(slot.variable.as_ref(), before.slot.variable.as_ref()) {
                any = true;
                single |= !matches!(slot.variable, Some(Variable { value: Value::List(_), .. }));
            }
            match outer {
                // The shell around this one has not put it aside yet, and needs it to get back.
                Some(number) if before.slot.saved_for != number => {
                    slot.saved_for = number;
                    self.aside.push(before);
                }
                _ => slot.saved_for = before.slot.saved_for,
            }
        }
        (any, single)
    }

    /// The place of a variable, after what it held has been put aside for the end of the innermost subshell.
    fn slot(&mut self, name: &str, keep: Keep) -> &mut Slot {
        if !self.slots.contains_key(name) {
            self.slots.insert(name.to_owned(), Slot::default());
        }
        let slot = self.slots.get_mut(name).expect("it was put there if it was missing");
        if let Some(&(innermost, _)) = self.open.last()
            && slot.saved_for != innermost
        {
            let variable = match keep {
                Keep::Value => slot.variable.clone(),
                Keep::Nothing => slot.variable.take(),
            };
            let before = Slot { variable, saved_for: slot.saved_for };
            self.aside.push(Before { name: name.to_owned(), slot: before });
            slot.saved_for = innermost;
        }
        slot
    }
}

/// Whether two variables read the same; where their unknown parts come from is no difference.
fn alike(one: Option<&Variable>, other: Option<&Variable>) -> bool {
    let texts = |one: &Word, other: &Word| one.text() == other.text();
    match (one.map(|one| &one.value), other.map(|other| &other.value)) {
        (None, None) => true,
        (Some(Value::Scalar(one)), Some(Value::Scalar(other))) => texts(one, other),
        (Some(Value::List(one)), Some(Value::List(other))) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| texts(one, other))
        }
        (Some(Value::Map(one)), Some(Value::Map(other))) => {
            one.len() == other.len() && one.values().zip(other.values()).all(|(one, other)| texts(one, other))
        }
        _ => false,
    }
}

/// Whether what a variable holds is still needed where it is.
#[derive(Clone, Copy)]
enum Keep {
    Value,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::{Value, Variables};
    use crate::Word;

    fn set(variables: &mut Variables, name: &str, text: &str) {
        variables.insert(name, Value::Scalar(Word::known(text)));
    }

    fn text(variables: &Variables, name: &str) -> Option<String> {
        match &variables.get(name)?.value {
            Value::Scalar(word) => Some(word.text().to_owned()),
            Value::List(words) => Some(words.iter().map(Word::text).collect::<Vec<_>>().join(",")),
            Value::Map(_) => None,
        }
    }

    #[test]
    fn what_a_subshell_does_ends_with_it() {
        let mut variables = Variables::default();
        set(&mut variables, "a", "1");
        variables.insert("list", Value::List(vec![Word::known("x")]));
        variables.enter_subshell();
        set(&mut variables, "a", "2");
        set(&mut variables, "b", "new");
        variables.enter_subshell();
        set(&mut variables, "a", "3");
        set(&mut variables, "a", "4");
        variables.remove("b");
        if let Value::List(words) = &mut variables.change("list").value {
            words.push(Word::known("y"));
        }
        assert_eq!(text(&variables, "list").as_deref(), Some("x,y"));
        variables.leave_subshell();
        assert_eq!(text(&variables, "a").as_deref(), Some("2"));
        assert_eq!(text(&variables, "b").as_deref(), Some("new"));
        assert_eq!(text(&variables, "list").as_deref(), Some("x"));
        variables.enter_subshell();
        set(&mut variables, "a", "5");
        variables.leave_subshell();
        assert_eq!(text(&variables, "a").as_deref(), Some("2"));
        variables.leave_subshell();
        assert_eq!(text(&variables, "a").as_deref(), Some("1"));
        assert_eq!(text(&variables, "b"), None);
    }
}
