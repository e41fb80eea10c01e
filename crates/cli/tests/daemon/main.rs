//! The shared proxy as a daemon, through the built binary.

mod apart;
mod coverage;
mod crash;
mod doctor;
mod echo;
mod exact;
mod life;
mod limits;
mod management;
mod name_server;
mod names;
mod places;
mod recording;
mod reload;
mod scene;
mod served;
mod service;
mod setup;
mod sources;
