/**
 * Asks Gemini CLI's policy engine what it says of calls. Run as a process of
 * its own, for it is big and talks a lot:
 * `node oracle.ts <module> <questions.json> <answers.json>`.
 */
import { readFile, writeFile } from "node:fs/promises";

/** A call that the engine decides about. */
interface Question {
  /** Its mode: default, autoEdit, plan or yolo. */
  readonly mode: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The MCP server of the tool. */
  readonly server?: string;
}

const [modulePath = "", questionsPath = "", answersPath = ""] =
  process.argv.slice(2);
const { rules, questions }: { rules: string; questions: readonly Question[] } =
  JSON.parse(await readFile(questionsPath, "utf8"));
const core = await import(modulePath);
await core.initializeShellParsers();
const loaded = await core.loadPoliciesFromToml(
  [core.DEFAULT_CORE_POLICIES_DIR, rules],
  (path: string) =>
    path === rules ? core.USER_POLICY_TIER : core.DEFAULT_POLICY_TIER,
);
if (loaded.errors.length > 0) throw new Error(JSON.stringify(loaded.errors));
const answers: string[] = [];
for (const { mode, tool, args, server } of questions) {
  const engine = new core.PolicyEngine({
    rules: loaded.rules,
    checkers: loaded.checkers,
    approvalMode: mode,
  });
  const { decision } = await engine.check({ name: tool, args }, server);
  answers.push(decision === "ask_user" ? "ask" : decision);
}
await writeFile(answersPath, JSON.stringify(answers));
