//! A tunnel that looks at nothing: what being a proxy costs before it is of any use.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

pub async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(tunnel(stream));
    }
}

async fn tunnel(mut client: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut head = Vec::with_capacity(512);
    while !head.ends_with(b"\r\n\r\n") {
        if client.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let text = String::from_utf8_lossy(&head);
    let target = text.split(' ').nth(1).ok_or(io::ErrorKind::InvalidData)?;
    let mut upstream = TcpStream::connect(target).await?;
    upstream.set_nodelay(true)?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}
