//! Clouds: clients that sign, and clients that mint.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_testkit::Cofferdam;
use serde_json::json;

use super::{answer, as_in_a_sandbox, headers, json, python, using};
use crate::minted::exchanged::{REAL, answer_with, key};
use crate::minted::signed::{ID, KEY, assert_signed};
use crate::proxied::{Proxied, SECRET};

const AWS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", ID), ("AWS_SECRET_ACCESS_KEY", KEY)];

#[test]
fn req_e07_boto3_talks_to_bedrock_with_a_key_that_is_none() {
    let proxied = using("aws", &AWS);
    let path = "/model/anthropic.claude-v2%3A1/invoke";
    answer(
        &proxied,
        "/model/anthropic.claude-v2:1/invoke",
        "application/json",
        "{\"completion\": \"hello\"}",
    );
    answer(&proxied, path, "application/json", "{\"completion\": \"hello\"}");
    let program = "import boto3, json\nfrom botocore.config import Config\n\
        c = boto3.client('bedrock-runtime', region_name='us-east-1', config=Config(retries={'max_attempts': 1}))\n\
        r = c.invoke_model(modelId='anthropic.claude-v2:1', body=json.dumps({'prompt': 'hi'}))\n\
        print(json.loads(r['body'].read())['completion'])\n";
    assert_eq!(python(&proxied, "aws", program).trim(), "hello");
    let [request] = &proxied.upstream.requests()[..] else { panic!("one request") };
    assert_eq!(request.body, b"{\"prompt\": \"hi\"}");
    assert_signed(request);
}

#[test]
fn req_e07_e30_boto3_puts_and_gets_objects_with_bodies_in_chunks() {
    let proxied = using("aws", &AWS);
    answer(&proxied, "/bucket/a%20b/c.bin", "application/octet-stream", "stored");
    answer(&proxied, "/bucket/up/c.bin", "application/octet-stream", "");
    let program = "import boto3, io\nfrom botocore.config import Config\n\
        config = Config(signature_version='s3v4', retries={'max_attempts': 1}, s3={'addressing_style': 'path'})\n\
        c = boto3.client('s3', region_name='eu-west-1', config=config)\n\
        c.put_object(Bucket='bucket', Key='up/c.bin', Body=io.BytesIO(bytes(range(256)) * 1000))\n\
        print(c.get_object(Bucket='bucket', Key='a b/c.bin')['Body'].read().decode())\n\
        import urllib.request\n\
        print(urllib.request.urlopen(c.generate_presigned_url('get_object', Params={'Bucket': 'bucket', 'Key': 'a b/c.bin'})).read().decode())\n";
    assert_eq!(python(&proxied, "aws", program), "stored\nstored\n");
    let requests = proxied.upstream.requests();
    assert_eq!(requests.len(), 3);
    requests.iter().for_each(assert_signed);
    let sent: Vec<u8> = (0..=255).collect::<Vec<u8>>().repeat(1000);
    let arrived = &requests[0].body;
    assert!(arrived.windows(sent.len()).any(|window| window == sent), "{} bytes arrived", arrived.len());
}

fn vertex() -> Proxied {
    let (_, pem) = key();
    let document = json!({
        "type": "service_account", "private_key_id": "real-key-id", "private_key": pem, "project_id": "p",
        "client_email": "a@p.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
    });
    let proxied = using("vertex", &[("VERTEX_CREDENTIALS_PATH", &document.to_string())]);
    answer_with(&proxied, "/token", &json!({ "access_token": REAL, "expires_in": 3600 }));
    proxied
}

#[test]
fn req_e07_googles_clients_mint_with_a_key_that_is_none() {
    let proxied = vertex();
    let things = "/v1/projects/p/locations/us-central1/things";
    json(&proxied, things, &json!({"things": 3}));
    let generate =
        "/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini:generateContent";
    json(
        &proxied,
        generate,
        &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}}]}),
    );
    let program = "\
import os
from google.oauth2 import service_account
from google.auth.transport.requests import AuthorizedSession
scopes = ['https://www.googleapis.com/auth/cloud-platform']
account = service_account.Credentials.from_service_account_file(os.environ['VERTEX_CREDENTIALS_PATH'], scopes=scopes)
url = 'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/things'
print(AuthorizedSession(account).get(url).json()['things'])
own = account.with_always_use_jwt_access(True)
own._create_self_signed_jwt('https://us-central1-aiplatform.googleapis.com/')
print(AuthorizedSession(own).get(url).json()['things'])
from google import genai
client = genai.Client(vertexai=True, project='p', location='us-central1', credentials=account)
print(client.models.generate_content(model='gemini', contents='hi').text)
";
    assert_eq!(python(&proxied, "vertex", program), "3\n3\nhello\n");
    let expected = &*format!("Bearer {REAL}");
    assert_eq!(headers(&proxied, things, "authorization"), [expected, expected]);
    assert_eq!(headers(&proxied, generate, "authorization"), [expected]);
    assert_eq!(headers(&proxied, "/token", "content-type").len(), 1, "one token for all of them");
}

#[test]
fn req_e07_git_over_https_works_with_basic() {
    let proxied = Proxied::tls(&[cofferdam_testkit::upstream::HttpVersion::Http1]);
    let head = "1111111111111111111111111111111111111111";
    answer(&proxied, "/repo.git/info/refs", "text/plain", format!("{head}\trefs/heads/main\n"));
    answer(&proxied, "/repo.git/HEAD", "text/plain", "ref: refs/heads/main\n");
    let token = proxied.token(4);
    let basic = STANDARD.encode(format!("x-access-token:{}", token.expose()));
    let header = format!("http.extraHeader=Authorization: Basic {basic}");
    let git = Cofferdam::new("/usr/bin/git", &proxied.home).args([
        "-c",
        &header,
        "ls-remote",
        "https://git.example.test/repo.git",
    ]);
    let shown = as_in_a_sandbox(git, &proxied, "git").run().expect_status(0).stdout();
    assert!(shown.contains(head) && shown.contains("refs/heads/main"), "{shown}");
    let real = format!("Basic {}", STANDARD.encode(format!("x-access-token:{SECRET}")));
    assert!(headers(&proxied, "/info/refs", "authorization").iter().all(|sent| *sent == real));
}
