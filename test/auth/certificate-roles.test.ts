import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import {
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { toolCallsOf } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Authority, type Certificate, hasOpenssl } from "./certificates.ts";

const RULES = `
[[rule]]
tool = "glob"
role = "ops"
decision = "deny"
deny_message = "not for ops"
`;
const ROLES = [
  { role: "leads", rights: ["run"] },
  { role: "ops", rights: ["run"] },
  { role: "viewers", rights: ["read"] },
] as const;
const NO_READ = 'right "read" is missing';
const NO_RUN = 'right "run" is missing';

describe.skipIf(!(await hasOpenssl()))("roles of client certificates", () => {
  const directory = temporaryDirectory();
  let authority: Authority;
  let server: DevtoolServer;
  let ca: string;
  beforeAll(async () => {
    authority = await Authority.create(directory, "ours");
    ca = await authority.certificate();
    putFile(directory, "rules.toml", RULES);
    await chmod(join(directory, "rules.toml"), 0o600);
    server = await serveCodingAgent({
      workspace: temporaryDirectory(),
      policyFiles: [join(directory, "rules.toml")],
      tls: {
        ...(await authority.issue("/CN=127.0.0.1")),
        clientAuthorities: ca,
      },
      authentication: { certificateRolesAttribute: "OU", roles: ROLES },
    });
  });
  afterAll(() => server.close());

  const BINDINGS = {
    "HTTP/1.1": (client: Certificate) => over("1.1", client),
    "HTTP/2": (client: Certificate) => over("2", client),
    gRPC: (client: Certificate) =>
      createGrpcTransport({ baseUrl: server.url, nodeOptions: of(client) }),
  };
  const of = ({ certificate, key }: Certificate) => ({
    ...{ ca, key, cert: certificate },
  });
  const over = (httpVersion: "1.1" | "2", client: Certificate) =>
    createConnectTransport({
      ...{ baseUrl: server.url, httpVersion, nodeOptions: of(client) },
    });

  it.each(Object.entries(BINDINGS))(
    "are those of its OU alone, over %s",
    async (_binding, transport) => {
      const outcomes: string[] = [];
      for (const subject of [
        "/OU=leads/CN=ada",
        "/OU=viewers/CN=ada",
        "/OU=viewers/OU=leads/CN=ada",
        "/OU=leads/OU=ops/CN=ada",
        // What only looks like the role.
        "/CN=ada",
        "/O=leads/CN=ada",
        "/OU=Leads/CN=ada",
        "/OU=leads,OU=ops/CN=ada",
        "/CN=ada\\/OU=leads",
        "/CN=ada\\nOU=leads",
      ]) {
        const client = await authority.issue(subject);
        const made = createDevtoolClient(transport(client));
        outcomes.push(await outcomeOf(made));
      }
      expect(outcomes).toEqual([
        "ran",
        NO_RUN,
        "ran",
        "not for ops",
        ...Array(6).fill(NO_READ),
      ]);
    },
  );

  it("are told to be nobody's where nothing names any", async () => {
    const notices: string[] = [];
    const mcp = createMcp({ servers: [{ name: "s", roles: ["dev"] }] });
    const rules = join(directory, "rules.toml");
    const named = await serveCodingAgent({
      workspace: temporaryDirectory(),
      ...{ policyFiles: [rules], mcp },
      onNotice: (text) => notices.push(text),
    });
    await named.close();
    const set = "set roles_claim or certificate_roles_attribute";
    expect(notices).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          `rules.toml:1 is for role "ops", which no caller has: ${set}`,
        ),
        `MCP server "s" is for role "dev", which no caller has: ${set}`,
      ]),
    );
  });
});

/** What becomes of a list of tasks, and of a call that a rule is about. */
async function outcomeOf({ tasks }: DevtoolClient): Promise<string> {
  try {
    await tasks.listTasks({});
    const message = textMessage(
      crypto.randomUUID(),
      'call glob {"pattern":"*"}',
    );
    const { task } = await tasks.sendMessage({ message });
    if (task && pendingToolCalls(task).length > 0) return "asks";
    const { result } = task?.history.flatMap(toolCallsOf).at(-1) ?? {};
    if (result?.case !== "error") return "ran";
    return (
      /not for ops/.exec(result.value.message)?.[0] ?? result.value.message
    );
  } catch (reason) {
    const { rawMessage } = ConnectError.from(reason);
    return /right "\w+" is missing/.exec(rawMessage)?.[0] ?? rawMessage;
  }
}
