import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { REAL_AGENTS } from "../acp/real-agents.ts";
import { type Exchange, play, type Seen } from "../codex/two-ways.ts";
import { DEPTH, LEFT_TO_DEEP } from "../depth.ts";

const PAGE = fileURLToPath(new URL("../../docs/codex.md", import.meta.url));
const [codex, codexAcp] = ["codex", "codex-acp"].map((wanted) =>
  REAL_AGENTS.find(({ name }) => name === wanted),
);
const missing = codex?.missing ?? codexAcp?.missing;
// One of 28 plays differed in the canceled command, and the cause is not known
// yet, so CI does not play it.
const isPlayed = DEPTH === "deep";

const PATCH = "*** Update File: a.txt\n@@\n one\n-two\n+TWO";
const NEW_FILE = "*** Add File: c.txt\n+three";
const DELETED_FILE = "*** Delete File: a.txt";

const EXCHANGES: Readonly<Record<string, Exchange>> = {
  "a text": { prompt: "text Hello.\ntext World." },
  "a thought": { prompt: "think\ntext Done." },
  "a plan": {
    prompt: `${call("update_plan", { plan: [{ step: "a", status: "completed" }] })}\ntext Done.`,
  },
  "a command that reads": {
    prompt: `${run({ cmd: "cat a.txt" })}\ntext Done.`,
    answers: ["proceed_once"],
  },
  "a command": {
    prompt: `${escalated("echo ran > b.txt; cat b.txt")}\ntext Done.`,
    answers: ["proceed_once"],
  },
  "a command that fails": {
    prompt: `${escalated("echo bad; exit 3")}\ntext Done.`,
    answers: ["proceed_once"],
  },
  "a canceled command": {
    prompt: `${escalated("echo ran > b.txt")}\ntext Done.`,
    answers: ["cancel"],
  },
  "a declined command": {
    prompt: `${escalated("echo ran > b.txt")}\ntext Done.`,
    answers: ["reject", "cancel"],
  },
  "a denied command": {
    prompt: `${escalated("echo denied > b.txt")}\ntext Done.`,
    denied: "denied",
  },
  "a new file": {
    prompt: `${patched(NEW_FILE)}\ntext Done.`,
    answers: ["proceed_once"],
  },
  "a deleted file": {
    prompt: `${patched(DELETED_FILE)}\ntext Done.`,
    answers: ["proceed_once"],
  },
  "two changes": {
    prompt: `${patched(PATCH, NEW_FILE)}\ntext Done.`,
    answers: ["proceed_once"],
  },
  "a declined change": {
    prompt: `${patched(PATCH)}\ntext Done.`,
    answers: ["reject", "cancel"],
  },
  "a change": {
    prompt: `${patched(PATCH)}\ntext Done.`,
    answers: ["proceed_once"],
  },
  "a fault of the model": { prompt: "fail 400" },
};

if (missing !== undefined) console.info(`skipped: codex ${missing}`);

describe("the comparison of both ways to Codex in docs/codex.md", () => {
  it("names exchanges of this test", () => {
    const named = Object.values(recorded()).flat();
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in EXCHANGES))).toEqual([]);
  });
});

describe.skipIf(!isPlayed)(
  `Codex through its app-server and over ACP${LEFT_TO_DEEP}`,
  () => {
    it("shows a client of the RFC the same, but for what docs/codex.md lists", async () => {
      if (missing !== undefined) throw new Error(`Codex ${missing}`);
      const programs = {
        codex: codex?.programs.codex ?? "",
        codexAcp: codexAcp?.programs["codex-acp"] ?? "",
      };
      const one = await play("codex", programs, EXCHANGES);
      const other = await play("codex-acp", programs, EXCHANGES);
      const found = differences(one, other);
      for (const name of unexpectedIn(found)) {
        console.info(
          `${name}\n${JSON.stringify(one[name])}\n${JSON.stringify(other[name])}`,
        );
      }
      expect(found).toEqual(recorded());
    }, 600_000);
  },
);

/**
 * Aspects of the command that is not asked about over ACP. On a busy machine it
 * may be over before it is shown to run, so they differ in some runs.
 */
const VARYING = {
  exchange: "a command that reads",
  aspects: ["results", "statuses of calls"],
};

type Differences = Record<string, string[]>;

/** Returns the exchanges in which each aspect differs. */
function differences(
  one: Readonly<Record<string, Seen>>,
  other: Readonly<Record<string, Seen>>,
): Differences {
  const found: Differences = {};
  for (const [name, seen] of Object.entries(one)) {
    for (const [aspect, value] of Object.entries(seen)) {
      if (name === VARYING.exchange && VARYING.aspects.includes(aspect)) {
        continue;
      }
      if (JSON.stringify(value) === JSON.stringify(other[name]?.[aspect])) {
        continue;
      }
      found[aspect] = [...(found[aspect] ?? []), name];
    }
  }
  return found;
}

/** Returns the exchanges that differ otherwise than the page says. */
function unexpectedIn(found: Differences): Set<string> {
  const listed = recorded();
  const aspects = new Set([...Object.keys(found), ...Object.keys(listed)]);
  const wrong = [...aspects].flatMap((aspect) => {
    const [here, there] = [new Set(found[aspect]), new Set(listed[aspect])];
    return [...here.symmetricDifference(there)];
  });
  return new Set(wrong);
}

/** Returns the exchanges that the page names for each aspect. */
function recorded(): Differences {
  const [, table = ""] = readFileSync(PAGE, "utf8").split(
    "<!-- recorded: both ways -->\n",
  );
  const rows = table.split("\n\n")[0]?.trim().split("\n").slice(2) ?? [];
  return Object.fromEntries(
    rows.map((row) => {
      const [, aspect = "", exchanges = ""] = row
        .split("|")
        .map((cell) => cell.trim());
      return [aspect, exchanges.split(", ")];
    }),
  );
}

function patched(...changes: readonly string[]): string {
  return run({
    cmd: `apply_patch <<'EOF'\n*** Begin Patch\n${changes.join("\n")}\n*** End Patch\nEOF`,
  });
}

function call(name: string, args: object): string {
  return `call ${name} ${JSON.stringify(args)}`;
}

function run(args: object): string {
  return call("exec_command", args);
}

function escalated(cmd: string): string {
  return run({
    cmd,
    sandbox_permissions: "require_escalated",
    justification: "a test",
  });
}
