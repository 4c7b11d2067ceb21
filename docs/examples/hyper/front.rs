//! `front ADDRESS:PORT ORIGIN CERTIFICATE KEY`: a reverse proxy for HTTP/2 over TLS, on hyper.

use std::{env, error::Error, fs::File, io::BufReader, sync::Arc};

use hyper::{
    body::Incoming, client, header::HOST, server, service::service_fn, Request, Response, Version,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{rustls::ServerConfig, TlsAcceptor};

type Failure = Box<dyn Error + Send + Sync>;

/// Asks the origin, over a connection of its own, for the path and query that the client asked for.
async fn forward(
    request: Request<Incoming>,
    origin: Arc<str>,
) -> Result<Response<Incoming>, Failure> {
    let stream = TcpStream::connect(&*origin).await?;
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let (mut head, body) = request.into_parts();
    if let Some(authority) = head.uri.authority() {
        head.headers.insert(HOST, authority.as_str().parse()?);
    }
    let path = head
        .uri
        .path_and_query()
        .ok_or("a request without a path")?;
    head.uri = path.as_str().parse()?;
    head.version = Version::HTTP_11;
    Ok(sender.send_request(Request::from_parts(head, body)).await?)
}

/// Serves a connection until the client closes it.
async fn serve(stream: TcpStream, acceptor: TlsAcceptor, origin: Arc<str>) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let stream = TokioIo::new(acceptor.accept(stream).await?);
    let answers = service_fn(move |request| forward(request, origin.clone()));
    Ok(server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(stream, answers)
        .await?)
}

async fn run(address: &str, origin: &str, certificate: &str, key: &str) -> Result<(), Failure> {
    let chain = rustls_pemfile::certs(&mut BufReader::new(File::open(certificate)?))
        .collect::<Result<_, _>>()?;
    let key = rustls_pemfile::private_key(&mut BufReader::new(File::open(key)?))?
        .ok_or("no key in the file")?;
    let mut tls = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let origin: Arc<str> = origin.into();
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let serving = serve(stream, acceptor.clone(), origin.clone());
        tokio::spawn(async move {
            if let Err(failure) = serving.await {
                eprintln!("front: {failure}");
            }
        });
    }
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => println!("front {} (hyper)", env!("CARGO_PKG_VERSION")),
        [address, origin, certificate, key] => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build()?;
            runtime.block_on(run(address, origin, certificate, key))?;
        }
        _ => return Err("usage: front ADDRESS:PORT ORIGIN CERTIFICATE KEY".into()),
    }
    Ok(())
}
