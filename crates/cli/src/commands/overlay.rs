//! `cofferdam overlay`: what commands wrote with `run --overlay`.

use std::io;
use std::path::Path;

use cofferdam_sandbox::overlay::{Change, Layer, What};
use serde::Serialize;

use crate::args::overlay::{OverlayArgs, OverlayCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;

pub fn run(args: &OverlayArgs) -> Result<Exit, Failure> {
    let layers = Places::find()?.overlays();
    match &args.command {
        OverlayCommand::List { json } => list(&layers, *json),
        OverlayCommand::Diff { id, json } => diff(&open(&layers, id)?, *json),
        OverlayCommand::Apply { id } => apply(open(&layers, id)?),
        OverlayCommand::Discard { id } => {
            open(&layers, id)?.discard().map_err(|error| failed(id, &error))?;
            Ok(Exit::Success)
        }
    }
}

fn open(layers: &Path, id: &str) -> Result<Layer, Failure> {
    Layer::open(layers, id).map_err(|error| failed(id, &error))?.ok_or_else(|| {
        Failure::new(Exit::Usage, format!("there is no layer \u{201c}{}\u{201d}", id.escape_default()))
            .hint("`cofferdam overlay list` names them")
    })
}

fn failed(id: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("layer {id}: {error}"))
        .hint("what was carried over stays; run the same again once the cause is gone")
}

#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    workspace: String,
    command: String,
    created: i64,
    changes: Option<usize>,
}

fn list(layers: &Path, json: bool) -> Result<Exit, Failure> {
    let layers = Layer::list(layers).map_err(|error| {
        Failure::new(Exit::Unavailable, format!("cannot read {}: {error}", layers.display()))
    })?;
    let listed: Vec<Listed<'_>> = layers
        .iter()
        .map(|layer| Listed {
            id: &layer.id,
            workspace: layer.about.workspace.to_string(),
            command: layer.about.command.to_string(),
            created: layer.about.created.0,
            // A workspace that is gone leaves nothing to count.
            changes: layer.changes().ok().map(|changes| changes.len()),
        })
        .collect();
    if json {
        output::json(&listed)?;
    } else {
        let rows: Vec<Vec<String>> = listed
            .into_iter()
            .map(|layer| {
                let changes = layer.changes.map_or("?".to_owned(), |count| count.to_string());
                vec![layer.id.to_owned(), changes, layer.workspace, layer.command]
            })
            .collect();
        output::table(&["LAYER", "CHANGES", "WORKSPACE", "COMMAND"], &rows)?;
    }
    Ok(Exit::Success)
}

fn diff(layer: &Layer, json: bool) -> Result<Exit, Failure> {
    let changes = layer.changes().map_err(|error| failed(&layer.id, &error))?;
    if json {
        output::json(&changes)?;
    } else {
        output::text(&changes.iter().map(|change| line(change) + "\n").collect::<String>())?;
    }
    Ok(Exit::Success)
}

fn line(change: &Change) -> String {
    let path = &change.path;
    let set_id = |set_id: bool| if set_id { " (its set-user-id bit is not applied)" } else { "" };
    let mut line = match &change.what {
        What::AddedFile { bytes, set_id: set } => format!("added     {path} ({bytes} bytes){}", set_id(*set)),
        What::ModifiedFile { bytes, set_id: set } => {
            format!("modified  {path} ({bytes} bytes){}", set_id(*set))
        }
        What::AddedDirectory { .. } => format!("added     {path}/"),
        What::Link { to } => format!("link      {path} -> {to}"),
        What::Mode { from, to } => format!("mode      {path} {from:03o} -> {to:03o}"),
        What::DeletedFile => format!("deleted   {path}"),
        What::DeletedDirectory => format!("deleted   {path}/"),
        What::Special => format!("special   {path}"),
    };
    if let Some(held) = change.held {
        line.push_str(&format!("\n          not applied: {}", held.words()));
    }
    line
}

fn apply(layer: Layer) -> Result<Exit, Failure> {
    let id = layer.id.clone();
    let applied = layer.apply().map_err(|error| failed(&id, &error))?;
    let count = applied.done.len();
    if applied.held.is_empty() {
        layer.discard().map_err(|error| failed(&id, &error))?;
        output::text(&format!("applied {count} changes; layer {id} is gone\n"))?;
        return Ok(Exit::Success);
    }
    output::text(&applied.held.iter().map(|change| line(change) + "\n").collect::<String>())?;
    Err(Failure::new(
        Exit::Found,
        format!("applied {count} changes; {} stay in layer {id}", applied.held.len()),
    )
    .hint(format!("carry them over by hand, or remove them with `cofferdam overlay discard {id}`")))
}
