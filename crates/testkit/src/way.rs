//! The ways in which a command is run in a sandbox: what holds in one must hold in all.

use crate::scene::Scene;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    OneShot,
    Terminal,
    SessionExec,
    SessionBackground,
    SessionAttach,
    /// One shot, with the best effort, where the machine refuses namespaces.
    WithoutNamespaces,
}

impl Way {
    /// What a sandbox with all its walls has besides the first.
    pub const OTHERS: [Self; 4] =
        [Self::Terminal, Self::SessionExec, Self::SessionBackground, Self::SessionAttach];

    pub(crate) fn has_terminal(self) -> bool {
        matches!(self, Self::Terminal | Self::SessionAttach)
    }

    fn has_session(self) -> bool {
        matches!(self, Self::SessionExec | Self::SessionBackground | Self::SessionAttach)
    }
}

const SESSION: &str = "attacked";
/// A process in a user namespace whose own limit is none cannot make another.
const NO_MORE: &str = r#"echo 0 >/proc/sys/user/max_user_namespaces; exec "$@""#;

/// Commands that are run in one scene and in one way.
#[derive(Debug)]
pub struct Running<'a> {
    scene: &'a Scene,
    way: Way,
}

impl<'a> Running<'a> {
    /// # Panics
    ///
    /// When there can be no session.
    pub fn begin(scene: &'a Scene, way: Way) -> Self {
        let running = Self { scene, way };
        if way.has_session() {
            running.call(&["session", "new", "--name", SESSION], &[]).expect_status(0);
        }
        running
    }

    /// Runs a command to its end and gives all that it has printed, on either stream.
    pub fn run(&self, command: &[String]) -> String {
        match self.way {
            Way::OneShot => self.printed(&["run", "--"], command),
            Way::Terminal => self.on_terminal(&["run", "-t", "--"], command),
            Way::SessionExec => self.printed(&["session", "exec", SESSION, "--"], command),
            Way::SessionAttach => self.on_terminal(&["session", "attach", SESSION, "--"], command),
            Way::SessionBackground => {
                let words = ["session", "exec", SESSION, "--background", "--"];
                let number = self.call(&words, command).expect_status(0).stdout();
                self.printed(&["session", "logs", SESSION, number.trim(), "--follow"], &[])
            }
            Way::WithoutNamespaces => {
                let before = ["/usr/bin/unshare", "--user", "--map-root-user", "sh", "-c", NO_MORE, "sh"];
                let words = self.words(&["run", "--isolation", "best-effort", "--"], command);
                let all: Vec<String> = before.iter().map(|word| (*word).to_owned()).chain(words).collect();
                let outcome = self.scene.launch(&all);
                outcome.stdout() + &outcome.stderr()
            }
        }
    }

    fn words(&self, words: &[&str], command: &[String]) -> Vec<String> {
        let mut all = vec![self.scene.cofferdam()];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all.extend(command.iter().cloned());
        all
    }

    fn call(&self, words: &[&str], command: &[String]) -> crate::Outcome {
        self.scene.launch(&self.words(words, command))
    }

    fn printed(&self, words: &[&str], command: &[String]) -> String {
        let outcome = self.call(words, command);
        outcome.stdout() + &outcome.stderr()
    }

    fn on_terminal(&self, words: &[&str], command: &[String]) -> String {
        self.scene.launch_on_terminal(&self.words(words, command)).end().1
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.way.has_session() {
            self.call(&["session", "kill", SESSION], &[]);
        }
    }
}
