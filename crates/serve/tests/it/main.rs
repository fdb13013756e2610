//! Servers and their clients, over sockets.

mod client;
mod control;
mod history;
mod hostile;
mod requests;
