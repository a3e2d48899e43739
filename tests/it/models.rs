//! Models that run here: installing them, what they give, and what happens where something is
//! missing. The models and ONNX Runtime come from `tests/models/fetch.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use recalld::clock::SystemClock;
use recalld::domain::embedding::Scripts;
use recalld::embed::files::{self, Import};
use recalld::embed::runtime::Places;
use recalld::embed::{self, Choice, Queue, Surroundings};
use recalld::ports::Embedder;
use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};
use crate::hub::Hub;
use crate::skip::skip;

/// The repository of all-MiniLM-L6-v2 on the hub.
const MINILM: &str = "Qdrant/all-MiniLM-L6-v2-onnx";
const FILES: [&str; 5] = [
    "model.onnx",
    "tokenizer.json",
    "config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
];

/// The directory with ONNX Runtime and the models; `None`, said aloud, where nobody fetched them.
pub fn test_models(test: &str) -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("RECALLD_TEST_MODELS") else {
        skip(test, "RECALLD_TEST_MODELS is not set (tests/models/fetch.py DIR fetches them)");
        return None;
    };
    let dir = PathBuf::from(dir);
    for file in ["ort/libonnxruntime.so", "minilm/model.onnx", "e5/model.onnx"] {
        assert!(dir.join(file).is_file(), "{} is missing", dir.join(file).display());
    }
    Some(dir)
}

/// Installs a test model in the data directory of a home, with ONNX Runtime beside it.
pub fn install(home: &Home, models: &Path, from: &str, name: &str) {
    install_with(home, models, from, name, &[]);
}

fn install_with(home: &Home, models: &Path, from: &str, name: &str, more: &[&str]) {
    fs::create_dir_all(home.state()).unwrap();
    std::os::unix::fs::symlink(models.join("ort"), home.state().join("ort")).unwrap();
    let from = models.join(from);
    let mut arguments = vec!["model", "import", from.to_str().unwrap(), "--name", name];
    arguments.extend(more);
    let output = home.run(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn places(models: &Path) -> Places {
    Places { dirs: vec![models.join("ort")], ..Places::default() }
}

/// Installs a test model under a name and starts it.
fn installed(models: &Path, from: &str, name: &str, into: &Path) -> Queue {
    let pooling = Some("mean".to_owned());
    let import = Import {
        dir: models.join(from),
        name: Some(name.to_owned()),
        pooling,
        ..Import::default()
    };
    files::import(into, &import, &places(models), 1).unwrap();
    embed::start(
        Choice::Installed(name.to_owned()),
        Surroundings {
            models_dir: into.to_owned(),
            places: places(models),
            n_threads: 1,
            clock: Arc::new(SystemClock::new()),
        },
    )
}

async fn documents(queue: &Queue, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts = texts.iter().map(|text| Arc::from(*text)).collect();
    let found = queue.embed_documents(texts).await.unwrap();
    found.into_iter().map(|chunks| chunks[0].to_vec()).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[tokio::test]
async fn minilm_gives_the_similarities_that_its_card_publishes() {
    let Some(models) = test_models("minilm_gives_the_similarities_that_its_card_publishes") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let queue = installed(&models, "minilm", "all-minilm-l6-v2", dir.path());
    let weather =
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."];
    let example = [
        "This is an example sentence",
        "Each sentence is converted",
        "That is a happy person",
        "That is a happy dog",
        "That is a very happy person",
        "Today is a sunny day",
    ];
    // The first three are on the model's card; the others are from ONNX Runtime in Python.
    let (weather, example) = (documents(&queue, &weather).await, documents(&queue, &example).await);
    for (a, b, expected) in [
        (&weather[0], &weather[1], 0.6660),
        (&weather[0], &weather[2], 0.1046),
        (&weather[1], &weather[2], 0.1411),
        (&example[0], &example[1], 0.40456),
        (&example[2], &example[3], 0.69458),
        (&example[2], &example[4], 0.94292),
        (&example[2], &example[5], 0.25688),
    ] {
        let found = cosine(a, b);
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
    let identity = queue.identity().unwrap();
    assert_eq!((identity.dimension, identity.tokens_max), (384, 256));
    assert!(identity.weights_hash.starts_with("blake3:"), "{identity:?}");

    // The same weights read as bytes, as any model outside the catalogue is.
    let plain = installed(&models, "minilm", "my-minilm", dir.path());
    let again = documents(&plain, &["The weather is lovely today."]).await;
    assert!(cosine(&weather[0], &again[0]) > 0.999_999);
    let other = plain.identity().unwrap();
    assert_eq!(other.weights_hash, identity.weights_hash);
    assert_eq!(other.tokens_max, 512, "its tokenizer says so");

    // What it reads shows in its tokenizer.
    assert_eq!(other.scripts, Scripts::LATIN);
    assert_eq!(identity.scripts, Scripts::LATIN);
    queue.close();
    plain.close();
}

#[tokio::test]
async fn damaged_weights_are_refused_by_name_and_never_loaded() {
    let Some(models) = test_models("damaged_weights_are_refused_by_name_and_never_loaded") else {
        return;
    };
    let home = Home::with_config("[embed]\nmodel = \"my-minilm\"\n").expect_log("words alone");
    install_with(&home, &models, "minilm", "my-minilm", &["--pooling", "mean"]);
    let listed = text(&home.run(&["--json", "model", "list"]).stdout);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let all = listed["models"].as_array().unwrap();
    let mine = all.iter().find(|model| model["name"] == "my-minilm").unwrap();
    assert_eq!((&mine["languages"], &mine["scripts"]), (&json!("Latin"), &json!(["latin"])));
    let dir = home.state().join("models/my-minilm");
    let weights = dir.join("model.onnx");
    let whole = fs::read(&weights).unwrap();
    let mut flipped = whole.clone();
    let at = flipped.len() / 2;
    flipped[at] ^= 1;
    let tokenizer = dir.join("tokenizer.json");
    let words = fs::read(&tokenizer).unwrap();
    for (file, bytes) in [
        (&weights, &flipped[..]),
        (&weights, &whole[..whole.len() / 2]),
        (&tokenizer, &words[..words.len() - 1]),
    ] {
        let before = fs::read(file).unwrap();
        fs::write(file, bytes).unwrap();
        let output = home.run(&["model", "use", "my-minilm"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        for part in [file.to_str().unwrap(), "is damaged", "model import DIR --name my-minilm"] {
            assert!(message.contains(part), "{message}");
        }
        fs::write(file, before).unwrap();
    }
    // Only touched, it is the same model.
    assert!(home.run(&["model", "use", "my-minilm"]).status.success());

    fs::write(&weights, &flipped).unwrap();
    let daemon = home.serve().await;
    let agent = home.agent("tester").await;
    agent.store("The kettle is green.").await;
    let status = eventually("the model is given up", async || {
        let status = agent.must("memory_status", json!({})).await;
        model_part(&status).contains("is damaged").then_some(status)
    })
    .await;
    assert!(model_part(&status).contains("model.onnx"), "{status}");
    let doctor = text(&home.run(&["doctor"]).stdout);
    assert!(doctor.contains("install it anew with"), "{doctor}");
    assert_eq!(agent.recall("kettle").await, ["The kettle is green."]);
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_latin_model_of_ones_own_stands_aside_for_chinese_and_other_weights_want_a_restart() {
    let test =
        "a_latin_model_of_ones_own_stands_aside_for_chinese_and_other_weights_want_a_restart";
    let Some(models) = test_models(test) else { return };
    let home = Home::with_config("[embed]\nmodel = \"mine\"\nstore_wait_ms = 10000\n");
    install_with(&home, &models, "minilm", "mine", &["--pooling", "mean"]);
    let daemon = home.serve().await;
    let agent = home.agent("tester").await;
    ready(&agent).await;
    let memories = json!(["她对花生过敏。", "服务器每个星期天重启。", "The kettle is green."]);
    agent.must("memory_store", json!({ "memories": memories })).await;
    for (question, is_read) in [("什么食物会让她生病？", false), ("What colour?", true)] {
        let answer = agent.must("memory_search", json!({ "query": question })).await;
        let told = answer["degraded"].to_string();
        assert_eq!(!told.contains("reads Latin script only"), is_read, "{answer}");
    }
    let doctor = text(&home.run(&["doctor"]).stdout);
    assert!(doctor.contains("on ONNX Runtime 1."), "{doctor}");
    assert!(!doctor.contains("model weights"), "{doctor}");

    // The multilingual model under the same name: its tokenizer shows that it reads everything.
    let e5 = models.join("e5");
    let import = ["model", "import", e5.to_str().unwrap(), "--name", "mine", "--pooling", "mean"];
    let output = home.run(&import);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("reads all scripts"), "{}", text(&output.stdout));
    let doctor = text(&home.run(&["doctor"]).stdout);
    assert!(doctor.contains("model weights") && doctor.contains("restart recalld"), "{doctor}");
    assert!(daemon.stop().await.success());
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a model command with ONNX Runtime at hand and more variables.
fn run(home: &Home, models: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = home.command(arguments);
    command.env("ORT_DYLIB_PATH", models.join("ort/libonnxruntime.so"));
    command.envs(variables.iter().copied()).output().unwrap()
}

async fn ready(agent: &Agent) {
    eventually("the model answers", async || {
        let status = agent.must("memory_status", json!({})).await;
        let parts = status["parts"].as_array().unwrap();
        parts.iter().all(|part| part["state"] != "degraded").then_some(())
    })
    .await;
}

fn model_part(status: &Value) -> String {
    let parts = status["parts"].as_array().unwrap();
    parts.iter().find(|part| part["name"] == "model").unwrap().to_string()
}

#[tokio::test]
async fn an_imported_e5_finds_chinese_and_across_languages() {
    let Some(models) = test_models("an_imported_e5_finds_chinese_and_across_languages") else {
        return;
    };
    let ort = models.join("ort/libonnxruntime.so");
    let config =
        format!("# mine\n[embed]\nonnx_runtime = \"{}\"\nstore_wait_ms = 10000\n", ort.display());
    let home = Home::with_config(&config);
    let e5 = models.join("e5");
    let import = ["model", "import", e5.to_str().unwrap(), "--name", "multilingual-e5-small"];
    let output = home.run(&import);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for fact in ["384 numbers", "512 tokens", "mean pooling", "\"query: \"", "\"passage: \""] {
        assert!(said.contains(fact), "{said}");
    }
    let output = home.run(&["model", "use", "multilingual-e5-small"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let written = fs::read_to_string(home.path("config.toml")).unwrap();
    assert!(written.starts_with("# mine\n"), "{written}");
    assert!(written.contains("model = \"multilingual-e5-small\""), "{written}");
    let listed: Value =
        serde_json::from_slice(&home.run(&["--json", "model", "list"]).stdout).unwrap();
    assert_eq!(listed["configured"], "multilingual-e5-small");

    let daemon = home.serve().await;
    let agent = home.agent("tester").await;
    ready(&agent).await;
    let memories = json!([
        "她对花生过敏，吃一点就会住院。",
        "服务器每个星期天凌晨三点自动重启。",
        "The spare key of the boat house hangs behind the blue barrel.",
        "Dinner with the neighbours is on Friday at seven."
    ]);
    let stored = agent.must("memory_store", json!({ "memories": memories })).await;
    assert_eq!(stored["memories"][0]["embedded"], json!(true), "{stored}");
    // A question shares no word with its answer. In its own language that is the first one found,
    // across languages one of the first two: the model puts texts of one language a little nearer.
    for (question, found, depth) in [
        ("什么食物会让她生病？", "花生", 1),
        ("机器什么时候会重新开机？", "重启", 1),
        ("船屋的备用钥匙放在哪里？", "boat house", 2),
    ] {
        let hits = agent.recall(question).await;
        let is_found = hits.iter().take(depth).any(|hit| hit.contains(found));
        assert!(is_found, "{question}: {hits:?}");
    }
    println!("resident with e5 (packed words): {} MB", daemon.resident_bytes() / 1_000_000);
    assert!(daemon.stop().await.success());
}

#[test]
fn a_model_is_fetched_from_the_hub_once_and_proven() {
    let Some(models) = test_models("a_model_is_fetched_from_the_hub_once_and_proven") else {
        return;
    };
    let hub = Hub::start();
    let home = Home::with_config("# kept\n[store]\ncache_mb = 16 # small\n");
    let before = fs::read(home.path("config.toml")).unwrap();
    // A cache for other programs, which would otherwise take the place of ours.
    let elsewhere = home.path("elsewhere");
    let hf_home = elsewhere.to_str().unwrap();
    let fetch = |url: &str| {
        let variables = [("HF_ENDPOINT", url), ("HF_HOME", hf_home)];
        run(&home, &models, &["model", "use", "all-minilm-l6-v2"], &variables)
    };
    let refused = |output: &Output, said: &str| {
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(said), "{message}");
        assert_eq!(fs::read(home.path("config.toml")).unwrap(), before, "nothing is changed");
        let listed = text(&home.run(&["--json", "model", "list"]).stdout);
        assert!(!listed.contains("\"installed\""), "{listed}");
    };

    // Nobody there.
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    refused(&fetch(&closed), "does not work");
    // Nothing there.
    refused(&fetch(&hub.url), "model.onnx");
    // Something there that is damaged on its way.
    for name in FILES {
        hub.put(MINILM, name, models.join("minilm").join(name));
    }
    for damaged in ["/model.onnx", "/tokenizer.json"] {
        hub.damage(&[damaged]);
        refused(&fetch(&hub.url), "damaged on their way");
    }
    hub.damage(&[]);
    // Only what was damaged is fetched again.
    hub.asked();
    let output = fetch(&hub.url);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("installed and works") && said.contains("Restart"), "{said}");
    let asked = hub.asked();
    assert!(asked.iter().all(|path| path.ends_with("/tokenizer.json")), "{asked:?}");
    assert!(!asked.is_empty());
    let written = fs::read_to_string(home.path("config.toml")).unwrap();
    assert!(written.starts_with("# kept\n[store]\ncache_mb = 16 # small\n"), "{written}");
    assert!(written.contains("model = \"all-minilm-l6-v2\""), "{written}");
    assert!(!elsewhere.exists(), "nothing lies outside the data directory");

    // Known and warm: the hub is not asked, and may be gone.
    hub.asked();
    let output = fetch(&hub.url);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(hub.asked(), Vec::<String>::new());
    fs::remove_file(home.state().join("models/all-minilm-l6-v2/manifest.json")).unwrap();
    let output = fetch(&closed);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[tokio::test]
async fn a_daemon_never_fetches_and_says_what_to_run() {
    let home = Home::with_config("[embed]\nmodel = \"bge-m3\"\n").expect_log("words alone");
    let hub = Hub::start();
    let log = fs::File::create(home.path("daemon.log")).unwrap();
    let mut child =
        home.command(&["serve"]).env("HF_ENDPOINT", &hub.url).stderr(log).spawn().unwrap();
    let agent = home.agent("tester").await;
    agent.store("The kettle is green.").await;
    assert_eq!(agent.recall("kettle").await, ["The kettle is green."]);
    let status = eventually("the model is given up", async || {
        let status = agent.must("memory_status", json!({})).await;
        model_part(&status).contains("not installed").then_some(status)
    })
    .await;
    assert!(model_part(&status).contains("recalld model use bge-m3"), "{status}");
    assert_eq!(hub.asked(), Vec::<String>::new());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_import_names_what_is_missing_and_leaves_nothing_behind() {
    let home = Home::new();
    let dir = home.path("source");
    fs::create_dir(&dir).unwrap();
    let source = dir.to_str().unwrap();
    let fails_with = |code: i32, arguments: &[&str], said: &[&str]| {
        let mut all = vec!["model", "import", source];
        all.extend(arguments);
        let output = home.run(&all);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        for part in said {
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
        let left: Vec<_> = fs::read_dir(home.state().join("models"))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        assert!(left.is_empty(), "{left:?}");
    };
    let fails = |arguments: &[&str], said: &[&str]| fails_with(1, arguments, said);
    let is_wrong = |arguments: &[&str], said: &[&str]| fails_with(64, arguments, said);
    fails(&[], &FILES);
    for name in FILES {
        fs::write(dir.join(name), "{}").unwrap();
    }
    fails(&[], &["tokenizer_config.json", "model_max_length", "pad_token"]);
    let config = r#"{"model_max_length": 128, "pad_token": "<pad>"}"#;
    fs::write(dir.join("tokenizer_config.json"), config).unwrap();
    is_wrong(&[], &["--pooling mean"]);
    is_wrong(&["--pooling", "sum"], &["mean or cls", "`sum`"]);
    is_wrong(&["--name", "Not a name"], &["Not a name"]);
    is_wrong(&["--name", "../escape"], &["../escape"]);
    is_wrong(&["--name", "bundled"], &["bundled"]);
    is_wrong(&["--pooling", "cls", "--max-tokens", "0"], &["--max-tokens"]);
    is_wrong(
        &["--pooling", "cls", "--languages", "some"],
        &["--languages", "latin, han", "`some`"],
    );
    fails(&["--pooling", "cls"], &["ONNX Runtime is not there", "state/ort", "1.24"]);
}

#[test]
fn a_runtime_that_cannot_be_used_is_named_and_harms_nothing() {
    let home = Home::new();
    let dir = home.path("source");
    fs::create_dir(&dir).unwrap();
    for name in FILES {
        let config = r#"{"model_max_length": 128, "pad_token": "<pad>"}"#;
        fs::write(dir.join(name), config).unwrap();
    }
    let import = ["model", "import", dir.to_str().unwrap(), "--pooling", "mean"];
    let fails = |library: &Path, said: &str| {
        let output = home.command(&import).env("ORT_DYLIB_PATH", library).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {message}", library.display());
        assert!(message.contains(said), "{message}");
        assert!(message.contains(library.to_str().unwrap()), "{message}");
    };
    let library = home.path("libonnxruntime.so");
    fails(&library, "is not there");
    fs::write(&library, "").unwrap();
    fails(&library, "no shared library");
    fs::write(&library, "just a text".repeat(100)).unwrap();
    fails(&library, "no shared library");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().find(|line| line.contains("libc.so")).unwrap();
    let libc = fs::read(libc.split_whitespace().last().unwrap()).unwrap();
    fs::write(&library, &libc[..libc.len() / 3]).unwrap();
    fails(&library, "cut off");
    fs::write(&library, &libc).unwrap();
    fails(&library, "cannot be used");
    for (version, said) in [("1.20.1", "1.20.1"), ("1.99.0", "does not start")] {
        if !build_library(&home, version, &library) {
            skip("a_runtime_that_cannot_be_used_is_named_and_harms_nothing", "no C compiler");
            return;
        }
        fails(&library, said);
    }
}

/// A library that says it is this version of ONNX Runtime, and has nothing else.
fn build_library(home: &Home, version: &str, library: &Path) -> bool {
    let source = home.path("library.c");
    let code = format!(
        "static const void *api(unsigned v) {{ return 0; }}\n\
         static const char *version(void) {{ return \"{version}\"; }}\n\
         static const struct {{ const void *(*a)(unsigned); const char *(*v)(void); }} base = \
         {{ api, version }};\n\
         const void *OrtGetApiBase(void) {{ return &base; }}\n"
    );
    fs::write(&source, code).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(library).arg(source);
    compiler.output().is_ok_and(|output| output.status.success())
}
