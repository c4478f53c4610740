import { execFile } from "node:child_process";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import { AgentListService } from "@devtool/schema";
import {
  type Agent,
  a2a,
  Code,
  createServer,
  type DevtoolServer,
  defaultDialects,
} from "@devtool/server";
import { agUi } from "@devtool/server/ag-ui";
import {
  type Dialect,
  forEachAgent,
  HttpFailure,
  loadOnce,
  route,
  send,
} from "@devtool/server/dialect";
import { afterEach, describe, expect, it } from "vitest";

const agent: Agent = {
  about: { name: "none", description: "does nothing" },
  open: () => ({ createExecutor: () => ({ async *execute() {} }) }),
};

/** Says in words of its own why a request fails. */
const strict: Dialect = (services) =>
  forEachAgent(services, (own) => [
    route(
      own,
      "GET",
      /^\/strict\/.*$/,
      async ({ path }) => {
        throw new HttpFailure(`no ${path}`, 404);
      },
      ({ status, message }) => {
        if (message.includes("evil")) throw new Error("the form is broken");
        const headers = { "content-type": "text/plain", "x-form": "strict" };
        return { status: status + 10, headers, body: `failed: ${message}` };
      },
    ),
  ]);

/** Answers a path with the agent that it is below. */
function named(path: string): Dialect {
  return (services) =>
    forEachAgent(services, (own) => [
      route(own, "POST", path, async ({ response }) =>
        send(response, 200, { body: JSON.stringify(own.agent) }),
      ),
    ]);
}

describe("the dialects of a server", () => {
  let server: DevtoolServer | undefined;
  afterEach(() => server?.close());

  async function serve(
    dialects: readonly Dialect[],
    agents: Readonly<Record<string, Agent>> = { agent },
  ): Promise<(path: string, method?: string) => Promise<Response>> {
    server = await createServer({ agents, dialects });
    const { url, token } = server;
    return (path, method = "POST") =>
      fetch(new URL(path, url), {
        method,
        headers: { authorization: `Bearer ${token}` },
      });
  }

  it("are those that it is given, and no other", async () => {
    const ask = await serve([agUi()]);
    const answers = await Promise.all([
      ask("/ag-ui"),
      ask("/.well-known/agent-card.json", "GET"),
      ask("/a2a"),
      ask("/devtool.v1alpha.TaskService/ListTasks"),
      ask("/healthz", "GET"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      415, 404, 404, 404, 200,
    ]);
    const transport = await server?.transport();
    const { agents } = transport
      ? await createClient(AgentListService, transport).listAgents({})
      : { agents: [] };
    expect(agents).toHaveLength(1);
  });

  it("are there for each agent, below its name", async () => {
    const dialects = [named("/hook"), ...defaultDialects()];
    const ask = await serve(dialects, { one: agent, two: agent });
    const paths = ["/hook", "/agents/one/hook", "/agents/two/hook"];
    const answers = await Promise.all(
      paths.map(async (path) => (await ask(path)).json()),
    );
    expect(answers).toEqual(["", "one", "two"]);
  });

  it("say in a form of their own why a request fails, also before they are asked", async () => {
    const errors: unknown[] = [];
    server = await createServer({
      agents: { one: agent, two: agent },
      dialects: [strict, ...defaultDialects()],
      onError: (reason) => errors.push(reason),
    });
    const { url, token } = server;
    const known = { authorization: `Bearer ${token}` };
    const ask = async (path: string, headers: Record<string, string>) => {
      const response = await new Promise<IncomingMessage>((resolve) =>
        get(new URL(path, url), { headers }, resolve),
      );
      const { statusCode, headers: sent } = response;
      return [statusCode, sent["x-form"], await text(response)];
    };
    const missing = expect.stringMatching(/^failed: the bearer token is miss/);
    expect(await ask("/strict/a", {})).toEqual([411, "strict", missing]);
    expect(await ask("/agents/two/strict/a", {})).toEqual([
      ...[411, "strict", missing],
    ]);
    expect(await ask("/strict/a", known)).toEqual([
      ...[414, "strict", "failed: no /strict/a"],
    ]);
    const odd = { ...known, host: "odd.example" };
    expect(await ask("/strict/a", odd)).toEqual([
      ...[413, "strict", expect.stringMatching(/^failed: host "odd\.example"/)],
    ]);
    // A form that throws costs its request, and the operator hears of it.
    const evil = await ask("/strict/a", { ...known, host: "evil.example" });
    expect(evil).toEqual([500, undefined, '{"error":"internal error"}']);
    expect(errors).toEqual([new Error("the form is broken")]);
    // Other routes keep theirs, also below an agent's name.
    const response = await fetch(new URL("/agents/two/a2a", url), {
      method: "POST",
    });
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { jsonrpc: "2.0", id: null, error: { code: -32600 } },
    ]);
  });

  it("list gRPC in no card without Connect", async () => {
    const ask = await serve([a2a()]);
    const text = await (await ask("/extendedAgentCard", "GET")).text();
    expect(text).toContain("HTTP+JSON");
    expect(text).not.toContain("GRPC");
  });

  it.each([
    ["another dialect's", [named("/ag-ui"), agUi()], "POST /ag-ui"],
    ["A2A's", [a2a(), named("/tasks/import")], "A2A"],
    ["Connect's", [...defaultDialects(), named("/a.B/C")], "connect"],
    ["the server's", [named("/x"), reading("/healthz")], "GET /healthz"],
    ["an agent's", [agUi(), named("/ag-ui")], "POST /ag-ui"],
  ])("are refused at a path that is %s", async (_whose, dialects, first) => {
    const failed = await serve(dialects).catch((reason: unknown) => reason);
    expect(failed).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringMatching(
        /^dialects\[\d\]: .* is never reached: the route ".*" takes it: give/,
      ),
    });
    expect(failed).toMatchObject({ message: expect.stringContaining(first) });
  });

  it("stop the start when one of them throws, and say which", async () => {
    const broken: Dialect = () => {
      throw new Error("HOOK_SECRET is missing");
    };
    await expect(serve([a2a(), broken])).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      message: "dialects[1] cannot be served: HOOK_SECRET is missing",
    });
  });

  it("are asked again when what they need could not be loaded", async () => {
    let loads = 0;
    const load = loadOnce(async () => {
      if (++loads === 1) throw new Error("too many open files");
      return "loaded";
    });
    const late: Dialect = (services) => [
      route(services, "GET", "/late", async ({ response }) =>
        send(response, 200, { body: JSON.stringify(await load()) }),
      ),
    ];
    const errors: unknown[] = [];
    server = await createServer({
      agents: { agent },
      dialects: [late, ...defaultDialects()],
      onError: (reason) => errors.push(reason),
    });
    const { url, token } = server;
    const headers = { authorization: `Bearer ${token}` };
    const statuses: number[] = [];
    for (const path of ["/late", "/tasks", "/late", "/late"]) {
      statuses.push((await fetch(new URL(path, url), { headers })).status);
    }
    expect(statuses).toEqual([500, 200, 200, 200]);
    expect([loads, errors.length]).toEqual([2, 1]);
  });

  it("load nothing of those that are not served", async () => {
    const program = `
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
      const { createServer } = await import("@devtool/server");
      const { route, send } = await import("@devtool/server/dialect");
      const agent = { about: { name: "none", description: "does nothing" }, open: () => ({ createExecutor: () => ({}) }) };
      const hook = (services) => [route(services, "POST", "/hook", async ({ response }) => send(response, 200, { body: "1" }))];
      const { url, token, close } = await createServer({ agents: { agent }, dialects: [hook] });
      const headers = { authorization: \`Bearer \${token}\` };
      const answers = ["/hook", "/a2a", "/ag-ui"].map((path) => fetch(new URL(path, url), { method: "POST", headers }));
      console.log(JSON.stringify({ statuses: (await Promise.all(answers)).map(({ status }) => status), loaded }));
      await close();`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--conditions=@devtool/source",
      "--experimental-transform-types",
      "--disable-warning=ExperimentalWarning",
      "--input-type=module",
      "--eval",
      program,
    ]);
    const { statuses, loaded } = JSON.parse(stdout);
    expect(statuses).toEqual([200, 404, 404]);
    expect(loaded.join("\n")).toContain("transport/http/routed-call.ts");
    const ofDialects =
      /transport\/(a2a\/|a2a-|ag-ui\/answer-run|gemini-cli\/answers|connect\/adapter)/;
    expect(loaded.filter((url: string) => ofDialects.test(url))).toEqual([]);
  });
});

/** Answers a GET request. */
function reading(path: string): Dialect {
  return (services) => [route(services, "GET", path, async () => undefined)];
}
