//! Assignments: `a=b`, `a+=(…)`, `export`, `declare` and their kind.

use std::rc::Rc;

use shuck_ast as ast;

use crate::shell::{Value, Variable};
use crate::{Input, Redirect, Shell, SimpleCommand, Source, Watch, Word};

/// What `declare -i` says of more names than this is not kept.
const MOST_COMPUTED: usize = 64;

impl Shell {
    pub(crate) fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        lasting: bool,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Vec<(String, Word)> {
        let mut made = Vec::new();
        for assignment in assignments {
            let name = assignment.target.name.as_str().to_owned();
            let value = self.assign(assignment, lasting, source, watch);
            made.push((name, value));
        }
        made
    }

    /// Takes an assignment and gives its value as one word.
    fn assign(
        &mut self,
        assignment: &ast::Assignment,
        lasting: bool,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Word {
        let name = assignment.target.name.as_str();
        let scalar = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => self.single(word, source, watch),
            ast::AssignmentValue::Compound(array) => {
                let value = self.array(array, source, watch);
                let words: Vec<Word> = match &value {
                    Value::List(words) => words.clone(),
                    Value::Map(map) => map.values().cloned().collect(),
                    Value::Scalar(word) => vec![word.clone()],
                };
                self.set_list(name, value, assignment.append);
                let mut joined = Word::default();
                for word in &words {
                    joined.push(word);
                    joined.push_str(" ");
                }
                return joined;
            }
        };
        if matches!(name, "PROMPT_COMMAND" | "BASH_ENV") {
            if let Some(text) = scalar.as_known().filter(|_| name == "PROMPT_COMMAND").map(str::to_owned) {
                self.deeper(|shell| shell.run_text(&text, watch));
            }
        } else if matches!(name, "PS0" | "PS1" | "PS2" | "PS4") {
            self.prompt(scalar.text(), watch);
        }
        if let Some(subscript) = &assignment.target.subscript {
            let key = self.subscript(subscript, source, watch);
            self.assign_element(name, &key, scalar.clone());
            return scalar;
        }
        if !lasting {
            return scalar;
        }
        let value = if assignment.append {
            let mut before =
                self.lookup(name).and_then(|all| all.words.into_iter().next()).unwrap_or_default();
            before.push(&scalar);
            before
        } else {
            scalar.clone()
        };
        if self.computed.iter().any(|computed| computed == name) {
            self.evaluated(value.text(), watch);
        }
        // After an append the whole is what counts, also for whoever watches.
        self.set(name, Value::Scalar(value.clone()));
        value
    }

    /// In place where a list grows: copying it for every `+=` would take the square of its length.
    fn set_list(&mut self, name: &str, value: Value, append: bool) {
        let name = self.referred(name).to_owned();
        let grows = append
            && matches!(&self.variables.get(&name), Some(Variable { value: Value::List(_), .. }))
            && matches!(value, Value::List(_));
        if !grows {
            self.set(&name, value);
            return;
        }
        if let (Value::List(before), Value::List(more)) = (&mut self.variables.change(&name).value, value) {
            self.kept += more.iter().map(|word| word.text().len() + 64).sum::<usize>();
            before.extend(more);
        }
    }

    fn assign_element(&mut self, name: &str, key: &Word, value: Word) {
        if name == "BASH_CMDS" || name == "BASH_ALIASES" {
            let text = value.text().to_owned();
            if name == "BASH_CMDS" {
                Rc::make_mut(&mut self.names.programs).insert(key.text().to_owned(), text);
            } else {
                Rc::make_mut(&mut self.names.aliases).insert(key.text().to_owned(), text);
            }
            return;
        }
        let name = self.referred(name).to_owned();
        let unsure = self.conditional > 0;
        let variable = self.variables.change(&name);
        // What has one value has it as its first element.
        if let Value::Scalar(first) = &mut variable.value
            && (!first.is_empty() && key.text().parse::<usize>().is_ok())
        {
            variable.value = Value::List(vec![std::mem::take(first)]);
        }
        let before = match &variable.value {
            Value::List(words) => key.text().parse::<usize>().ok().and_then(|at| words.get(at)),
            Value::Map(map) => map.get(key.text()),
            Value::Scalar(_) => None,
        };
        let differs = before.is_some_and(|before| before.text() != value.text());
        let value = if unsure && differs { Word::unknown(Some(Source::Variable(name))) } else { value };
        match (&mut variable.value, key.text().parse::<usize>()) {
            (Value::List(words), Ok(index)) if index < 4096 => {
                if words.len() <= index {
                    words.resize(index + 1, Word::default());
                }
                words[index] = value;
            }
            (Value::Map(map), _) => {
                map.insert(key.text().to_owned(), value);
            }
            (other, _) => *other = Value::Map([(key.text().to_owned(), value)].into()),
        }
    }

    fn array(&mut self, array: &ast::ArrayExpr, source: &str, watch: &mut dyn Watch) -> Value {
        let keyed = array.elements.iter().any(|element| !matches!(element, ast::ArrayElem::Sequential(_)));
        if !keyed {
            let words: Vec<&ast::Word> = array.elements.iter().map(|element| &element.value().word).collect();
            return Value::List(self.fields(words.into_iter(), source, watch));
        }
        let mut map = std::collections::BTreeMap::new();
        for element in &array.elements {
            let key = match element {
                ast::ArrayElem::Sequential(_) => Word::known(map.len().to_string()),
                ast::ArrayElem::Keyed { key, .. } | ast::ArrayElem::KeyedAppend { key, .. } => {
                    self.subscript(key, source, watch)
                }
            };
            let value = self.single(&element.value().word, source, watch);
            map.insert(key.text().to_owned(), value);
        }
        let indexed: Option<Vec<usize>> = map.keys().map(|key| key.parse::<usize>().ok()).collect();
        match indexed {
            Some(indices) if indices.iter().all(|&index| index < 4096) => {
                let mut list = vec![Word::default(); indices.iter().max().map_or(0, |&last| last + 1)];
                for (key, value) in map {
                    if let Ok(index) = key.parse::<usize>() {
                        list[index] = value;
                    }
                }
                Value::List(list)
            }
            _ => Value::Map(map),
        }
    }

    pub(crate) fn subscripts(&mut self, words: &[Word], watch: &mut dyn Watch) {
        for word in words {
            self.evaluated_subscript(word.text(), watch);
        }
    }

    /// `export`, `declare`, `local`, `readonly`, `typeset`.
    pub(crate) fn declaration(
        &mut self,
        clause: &ast::DeclClause,
        redirects: Vec<Redirect>,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let mut argv = vec![Word::known(clause.variant.as_str())];
        let mut made = self.assignments(&clause.assignments, false, source, watch);
        let (mut names_another, mut computes) = (false, false);
        let mut local =
            !self.locals.is_empty() && matches!(clause.variant.as_str(), "local" | "declare" | "typeset");
        for operand in &clause.operands {
            match operand {
                ast::DeclOperand::Flag(word) => {
                    let flag = self.single(word, source, watch);
                    names_another |= flag.text().starts_with('-')
                        && flag.text().contains('n')
                        && clause.variant.as_str() != "export";
                    computes |= flag.text().starts_with('-') && flag.text().contains('i');
                    local &= !flag.text().contains(['g', 'p', 'f', 'F']);
                    argv.push(flag);
                }
                ast::DeclOperand::Name(name) => {
                    if computes && self.computed.len() < MOST_COMPUTED {
                        self.computed.push(name.name.as_str().to_owned());
                    }
                    if local {
                        self.hide(name.name.as_str());
                        if self.variables.get(name.name.as_str()).is_none() {
                            self.variables.insert(name.name.as_str(), Value::Scalar(Word::default()));
                        }
                    }
                    argv.push(Word::known(name.name.as_str()));
                }
                ast::DeclOperand::Dynamic(word) => {
                    let fields = self.fields(std::iter::once(word), source, watch);
                    self.subscripts(&fields, watch);
                    for field in &fields {
                        if let Some((name, value)) = field.text().split_once('=') {
                            if local {
                                self.hide(name);
                            }
                            self.set(name, Value::Scalar(field.with_text(value)));
                            made.push((name.to_owned(), field.with_text(value)));
                        }
                    }
                    argv.extend(fields);
                }
                ast::DeclOperand::Assignment(assignment) => {
                    let name = assignment.target.name.as_str().to_owned();
                    // `local x=$x`: the value is that of the one outside.
                    let outside = self.variables.get(&name).cloned().filter(|_| local);
                    let value = self.assign(assignment, true, source, watch);
                    if computes {
                        self.evaluated(value.text(), watch);
                    }
                    if local {
                        let inside = self.variables.get(&name).cloned();
                        if let Some(outside) = outside {
                            self.variables.insert(&name, outside);
                        } else {
                            self.variables.remove(&name);
                        }
                        self.hide(&name);
                        if let Some(inside) = inside {
                            self.variables.insert(&name, inside);
                        }
                    }
                    if names_another {
                        self.evaluated_subscript(value.text(), watch);
                        let variable =
                            Variable { names_another: true, ..Value::Scalar(value.clone()).into() };
                        self.variables.insert(&name, variable);
                    }
                    made.push((name, value));
                }
            }
        }
        let command = SimpleCommand { argv: argv.into(), assignments: made, redirects, ..self.blank(input) };
        self.emit(command, watch);
        Word::default()
    }
}
