//! The cost of a row that reads 50 records of 4 texts where they lie: `cargo bench -p sampan-js --bench reading`.

use sampan_host::Module;
use sampan_js::Js;

// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static MODULES: &[&Module] = &[&sampan_rig::READING];

const SOURCE: &str = "import { app, reading } from 'sampan';
const records = [];
for (let i = 1; i <= 50; i++) records.push({ name: 'Name ' + i, city: 'City ' + i, email: 'a' + i + '@b.org', note: \
 'note ' + i });
app.get('/', (req) => {
  let sum = 0;
  for (let i = 0; i < Number(req.query.times); i++) sum += reading.lengths(records);
  return String(sum);
});";

fn main() {
    let limits = sampan_rig::patient_limits();
    let files = [("app.js", SOURCE)];
    let app = sampan_rig::load("app.js", &files, MODULES, limits, Js::load);
    sampan_rig::time_reading(&app.expect("the script loads"));
}
