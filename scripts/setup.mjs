// Sets up a fresh machine: npm packages, the Rust toolchain, a C compiler, and the programs for the tests. Asks no questions,
// skips installed programs, and reports those that it cannot install, with the reason why they are needed.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ask, fail, root, run, say, unlessDone, which } from './lib.mjs';

const has = (program) => () => which(program) !== undefined;
const hasFile = (path) => () => existsSync(path);
/** A compiler alone is not enough: linking needs the start files of libc6-dev. */
const canLink = () => which('cc') !== undefined && ask('cc', ['-print-file-name=crti.o']) !== 'crti.o';

/** Debian's packages, each with a check whether it is installed, and its purpose. */
const COMPILER = [
  { there: canLink, packages: ['gcc', 'libc6-dev'], why: 'Rust build scripts need a C linker' },
  { there: has('clang'), packages: ['clang'], why: "zstd's library, written in C, is compiled to wasm" },
];
/** The versions of the servers for upload tests. */
const S3_SERVER = '0.14.1';
const GCS_SERVER = 'github.com/fsouza/fake-gcs-server@v1.56.1';
/** The checker of workflows. */
const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';

/** Debian's Python, since its packages are for this version. */
const PYTHON = '/usr/bin/python3';
const canMakeEnvironments = () => ask(PYTHON, ['-c', 'import ensurepip']) !== undefined;

const PIGZ = { there: has('pigz'), packages: ['pigz'], why: 'what it compresses is read and compared with' };
const TESTS = [
  { there: has('chromium'), packages: ['chromium'], why: 'the browser tests drive it' },
  { there: has('qemu-img'), packages: ['qemu-utils'], why: 'tests compare with what it converts' },
  { there: has('cryptsetup'), packages: ['cryptsetup-bin'], why: 'tests read LUKS volumes that it makes' },
  { there: has('mkfs.ext4'), packages: ['e2fsprogs'], why: 'tests convert real file systems' },
  { there: has('Xvfb'), packages: ['xvfb'], why: 'a real save dialog needs a display' },
  { there: has('xdotool'), packages: ['xdotool'], why: 'it operates the save dialog' },
  PIGZ,
  ...[
    ['xz', 'xz-utils'],
    ['zstd', 'zstd'],
    ['bzip2', 'bzip2'],
    ['lz4', 'lz4'],
  ].map(([program, name]) => ({ there: has(program), packages: [name], why: 'what it compresses is read' })),
  { there: has('7zz'), packages: ['7zip'], why: 'tests read outputs with it' },
  { there: has('bmaptool'), packages: ['bmap-tools'], why: 'it reads the bmaps that Decant makes' },
  { there: has('fsverity'), packages: ['fsverity'], why: 'digests are compared with its own' },
  { there: has('sgdisk'), packages: ['gdisk'], why: 'it checks partition tables that are moved' },
  { there: has('python3'), packages: ['python3'], why: 'tests read the archives that its library writes' },
  { there: canMakeEnvironments, packages: ['python3-venv'], why: 'tests read outputs with packages of Python' },
];
const NGINX = [
  { there: has('nginx'), packages: ['nginx-light'], why: 'images are read from it' },
  { there: has('openssl'), packages: ['openssl'], why: 'it makes a certificate for nginx' },
];
/** In addition, for all scopes except the short one. */
const FULL_TESTS = [
  ...NGINX,
  { there: has('nbdkit'), packages: ['nbdkit'], why: 'tests read outputs with it' },
  { there: has('virt-v2v'), packages: ['virt-v2v'], why: 'it reads the OVAs that tests make' },
  { there: has('qemu-system-x86_64'), packages: ['qemu-system-x86'], why: 'virtual machines start from outputs' },
  { there: hasFile('/usr/share/OVMF/OVMF_CODE_4M.fd'), packages: ['ovmf'], why: 'they start by UEFI' },
  { there: has('zsh'), packages: ['zsh'], why: 'it completes arguments of the command' },
  { there: has('fish'), packages: ['fish'], why: 'it completes arguments of the command' },
  { there: has('man'), packages: ['man-db', 'groff'], why: 'it shows the man page' },
  { there: has('mandoc'), packages: ['mandoc'], why: 'it checks the man page' },
  { there: has('syslinux'), packages: ['syslinux'], why: 'they start by BIOS' },
  { there: hasFile('/usr/lib/syslinux/mbr/mbr.bin'), packages: ['syslinux-common'], why: 'they start by BIOS' },
];
/** Tests read disks that these make. */
const DISKS = [
  [has('sfdisk'), 'fdisk'],
  [has('mkfs.fat'), 'dosfstools'],
  [has('mkfs.exfat'), 'exfatprogs'],
  [has('mkfs.ntfs'), 'ntfs-3g'],
  [has('mkfs.xfs'), 'xfsprogs'],
  [has('mkfs.btrfs'), 'btrfs-progs'],
].map(([there, name]) => ({ there, packages: [name], why: 'tests look into disks that it makes' }));
const BENCHMARK = [...NGINX, PIGZ, { there: has('curl'), packages: ['curl'], why: 'what it fetches is compared with' }];
const WEBKIT_FOR_PYTHON = "import gi; gi.require_version('WebKit2', '4.1')";
const canOpenWebKit = () => ask(PYTHON, ['-c', WEBKIT_FOR_PYTHON]) !== undefined;
/** The other browsers, their drivers, and a window system for WebKit. */
const OTHER_BROWSERS = [
  { there: has('firefox-esr'), packages: ['firefox-esr'], why: 'tests run in Firefox' },
  { there: has('WebKitWebDriver'), packages: ['webkit2gtk-driver'], why: 'tests run in WebKit' },
  {
    there: canOpenWebKit,
    packages: ['python3-gi', 'gir1.2-webkit2-4.1'],
    why: 'a window for WebKit is made with them',
  },
];

export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return;
  fail(`Node ${process.versions.node} is too old.`, 'Install Node 20.19 or later, or 22.12 or later.');
}

/** Installs the packages in the lock file in `folder`. */
async function install(name, what, folder) {
  const done = { inputs: [`${folder}package-lock.json`], output: `${folder}node_modules/.package-lock.json` };
  await unlessDone(name, done, () => {
    say(`installing ${what}`);
    run(`Installing ${what}`, 'npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], {
      cwd: join(root, folder),
      env: { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' },
      todo: 'Check that npm reaches its registry, and run this again.',
    });
  });
}

export const npmPackages = () => install('npm', 'npm packages', '');
/** The compilers that check programs against the package's types. */
export const olderCompilers = () => install('typescript', 'older versions of TypeScript', 'tools/typescript/');

/** The reader of .github/workflows. */
export const workflowReader = () => install('workflows', 'a reader of workflows', 'tools/workflows/');

/** What starts in virtual machines, besides the kernel. */
const GUEST = ['busybox-static', 'systemd-boot-efi'];

/** The content of Debian's packages for virtual machines, in .cache/guest: installed, they would change how this machine starts. */
export async function guestFiles() {
  await unlessDone('guest', { inputs: [], output: '.cache/guest' }, () => {
    say('downloading a kernel for virtual machines');
    const folder = join(root, '.cache', 'guest');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const here = { cwd: folder, todo: 'Check that apt-get reaches its servers, and run this again.' };
    const [, kernel] = /Depends: (\S+)/.exec(ask('apt-cache', ['depends', 'linux-image-cloud-amd64']) ?? '') ?? [];
    const download = ['-q', '-o', 'APT::Sandbox::User=root', 'download', kernel ?? 'linux-image-cloud-amd64', ...GUEST];
    run('Downloading packages', 'apt-get', download, here);
    for (const name of readdirSync(folder)) {
      run('Unpacking a package', 'dpkg', ['-x', name, '.'], here);
      rmSync(join(folder, name));
    }
  });
}

/** Third-party readers of disk images: Python packages, in a virtual environment in .cache/readers. */
export async function foreignReaders() {
  const [folder, list] = ['.cache/readers', 'tools/readers/requirements.txt'];
  const todo = 'Check that pip reaches its registry, and run this again.';
  // Packages belong to one version of Python.
  const version = ask(PYTHON, ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
  const output = `${folder}/lib/python${version}/site-packages/dissect/hypervisor`;
  await unlessDone('readers', { inputs: [list], output }, () => {
    say('installing readers of disk images for Python');
    rmSync(join(root, folder), { recursive: true, force: true });
    run('Making a virtual environment', PYTHON, ['-m', 'venv', folder], { todo: 'Install python3-venv.' });
    const options = ['--quiet', '--disable-pip-version-check', '--require-hashes', '--only-binary=:all:'];
    const args = ['-m', 'pip', 'install', ...options, '--requirement', list];
    run('Installing packages of Python', join(root, folder, 'bin', 'python3'), args, { todo });
  });
}

/** More readers of outputs: the programs in tools/judges. */
export async function judges() {
  await install('xen-orchestra', "Xen Orchestra's readers", 'tools/judges/xen-orchestra/');
  const todo = 'Check that it reaches its registry, and run this again.';
  const folder = join(root, 'target', 'judges');
  const rust = { inputs: ['tools/judges/rust'], output: 'target/judges/release/judges' };
  await unlessDone('rust-judges', rust, () => {
    say('building readers of disk images in Rust');
    const args = ['--quiet', '--release', '--locked', '--manifest-path', 'tools/judges/rust/Cargo.toml'];
    run('Building readers', 'cargo', [`+${toolchain()}`, 'build', ...args, '--target-dir', folder], { todo });
  });
  const go = ask('go', ['version']);
  // Later versions fetch the one that go.mod names.
  if (Number(/go1\.(\d+)/.exec(go ?? '')?.[1] ?? 0) < 21) {
    say('there is no Go 1.21 or later: OVAs are not tried with govmomi');
    return;
  }
  await unlessDone('govmomi', { inputs: ['tools/judges/govmomi'], output: 'target/judges/govmomi' }, () => {
    say("building govmomi's importer");
    const cwd = join(root, 'tools', 'judges', 'govmomi');
    run("Building govmomi's importer", 'go', ['build', '-o', join(folder, 'govmomi'), '.'], { cwd, todo });
  });
}

const servers = join(root, 'target', 'servers');
const hasServer = (name) => existsSync(join(servers, 'bin', name));
const toServers = { todo: 'Check that it reaches its registry, and run this again.' };

/** Real servers for uploads, in tools/servers. */
export const npmServers = () => install('servers', 'servers that take uploads', 'tools/servers/');

/** A real server for uploads, in target/servers/bin. */
export function s3Server() {
  if (hasServer('s3s-fs')) return;
  say('building s3s-fs');
  const crate = ['s3s-fs', '--version', S3_SERVER, '--locked', '--features', 'binary', '--root', servers];
  run('Building s3s-fs', 'cargo', [`+${toolchain()}`, 'install', '--quiet', ...crate], toServers);
}

/** Builds the `program` of a Go module in `folder`, if there is Go. Returns its path. */
function goProgram(name, program, folder, withoutIt) {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  if (!which('go')) {
    say(`there is no Go: ${withoutIt}`);
    return undefined;
  }
  say(`building ${name}`);
  run(`Building ${name}`, 'go', ['install', program], { env: { ...process.env, GOBIN: folder }, ...toServers });
  return path;
}

const gcsServer = () =>
  goProgram(
    'fake-gcs-server',
    GCS_SERVER,
    join(servers, 'bin'),
    'uploads to Google Cloud Storage are not tried against fake-gcs-server',
  );

/** The checker of workflows, in a folder for its version; `undefined` without Go. */
export const actionlint = () =>
  goProgram('actionlint', ACTIONLINT, join(root, 'target', ACTIONLINT.split('/').at(-1)), 'workflows are not checked');

/** All of them. */
export async function uploadServers() {
  await npmServers();
  s3Server();
  gcsServer();
}

const toolchainFile = () => readFileSync(join(root, 'rust-toolchain.toml'), 'utf8');
export const toolchain = () => /channel = "(.+)"/.exec(toolchainFile())[1];
const list = (key) =>
  [...new RegExp(`${key} = \\[(.+)\\]`).exec(toolchainFile())[1].matchAll(/"(.+?)"/g)].map((m) => m[1]);

/** A newly installed rustup is not in PATH yet. */
const cargoBin = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'bin');
if (existsSync(cargoBin)) process.env.PATH = `${process.env.PATH}${delimiter}${cargoBin}`;

export function rust() {
  if (!which('rustup'))
    fail(
      'rustup is not installed; it brings the Rust compiler.',
      'Install it from https://rustup.rs and run this again.',
    );
  const channel = toolchain();
  const installed = ask('rustup', ['component', 'list', '--installed', '--toolchain', channel])?.split('\n') ?? [];
  const wanted = [...list('components'), ...list('targets').map((target) => `rust-std-${target}`)];
  if (wanted.every((name) => installed.some((have) => have.startsWith(name)))) return;
  say(`installing Rust ${channel}`);
  const parts = [
    ...list('components').flatMap((name) => ['-c', name]),
    ...list('targets').flatMap((name) => ['-t', name]),
  ];
  run(
    'Installing the Rust toolchain',
    'rustup',
    ['toolchain', 'install', channel, '--profile', 'minimal', '--no-self-update', ...parts],
    {
      todo: 'Check that rustup reaches its server, and run this again.',
    },
  );
}

/** Installs the standard library of another target. */
export function rustTarget(target) {
  const channel = toolchain();
  const installed = ask('rustup', ['target', 'list', '--installed', '--toolchain', channel])?.split('\n') ?? [];
  if (installed.includes(target)) return;
  say(`installing Rust's standard library for ${target}`);
  run(`Installing the target ${target}`, 'rustup', ['target', 'add', '--toolchain', channel, target], {
    todo: 'Check that rustup reaches its server, and run this again.',
  });
}

function debian(needs) {
  const missing = needs.filter(({ there }) => !there());
  if (missing.length === 0) return;
  const names = missing.flatMap(({ packages }) => packages);
  const reasons = missing.map(({ packages, why }) => `${packages.join(' and ')} (${why})`).join(', ');
  const todo = `Missing: ${reasons}. Install by hand: apt-get install ${names.join(' ')}`;
  if (!which('apt-get')) fail('This is not a Debian system, so packages cannot be installed for you.', todo);
  const sudo = process.getuid() === 0 ? [] : ['sudo', '-n'];
  if (sudo.length > 0 && ask('sudo', ['-n', 'true']) === undefined)
    fail('Installing packages needs root or a sudo that asks no password.', todo);
  say(`installing ${names.join(', ')}`);
  const apt = (doing, ...args) => {
    const [command, ...rest] = [
      ...sudo,
      'env',
      'DEBIAN_FRONTEND=noninteractive',
      'apt-get',
      '-q',
      '-o',
      'DPkg::Lock::Timeout=120',
      ...args,
    ];
    run(doing, command, rest, { todo });
  };
  // A failure is ignored, since one source of several may be broken: the installation decides.
  ask(sudo[0] ?? 'apt-get', [...sudo.slice(1), ...(sudo.length > 0 ? ['apt-get'] : []), '-q', 'update']);
  apt('Installing packages', 'install', '-y', '--no-install-recommends', ...names);
}

export const compiler = () => debian(COMPILER);
export const testPrograms = () => debian([...TESTS, ...DISKS]);
export const fullTestPrograms = () => debian(FULL_TESTS);
export const benchmarkPrograms = () => debian([...TESTS, ...BENCHMARK]);
export const otherBrowsers = () => debian(OTHER_BROWSERS);

if (!existsSync(join(root, 'package-lock.json'))) fail('package-lock.json is missing.', 'Use a complete checkout.');
