import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ServerConfigSchema } from "@devtool/schema/operator";
import { expect, it } from "vitest";
import { agentRegistry } from "./agent-registry.ts";
import { remoteAgents } from "./remote-agents.ts";

it("reads the keys that sign an agent's card, and names a file without keys", async () => {
  const directory = temporaryDirectory();
  const read = (keysFile: string) => {
    const far = { name: "far", url: "https://far.example", keysFile };
    const config = create(ServerConfigSchema, { remoteAgents: [far] });
    return remoteAgents(config, directory);
  };
  const keys = { keys: [{ kty: "OKP", crv: "Ed25519", x: "A" }] };
  await writeFile(join(directory, "far.json"), JSON.stringify(keys));
  expect(await read("far.json")).toMatchObject([{ name: "far", keys }]);
  expect((await read(""))[0]).not.toHaveProperty("keys");
  await expect(read("nope.json")).rejects.toThrow(
    /^remote_agents "far": keys_file ".*nope\.json" cannot be read: name an existing file$/,
  );
  await writeFile(join(directory, "bad.json"), '{"keys": [7]}');
  await expect(read("bad.json")).rejects.toThrow(
    'remote_agents "far": keys_file "bad.json" holds no key set: it needs a list of "keys", in JSON',
  );
});

it.each([
  ["https://me:s3cret@far.example", "a user name or a password in its url"],
  ["https://s3cret@far.example", "a user name or a password in its url"],
  ["https://me:s3/cret@far.example", 'the url "https://…", which is not one'],
])("refuses the URL %s, and shows no secret of it", async (url, problem) => {
  const named = [{ name: "far", url }];
  const agents = create(ServerConfigSchema, { remoteAgents: named });
  const catalogs = create(ServerConfigSchema, {
    agentRegistry: { catalogs: named },
  });
  const directory = temporaryDirectory();
  const outcomes = await Promise.allSettled([
    remoteAgents(agents, directory),
    agentRegistry(catalogs, directory),
  ]);
  const errors = outcomes.map((one) =>
    one.status === "rejected" ? String(one.reason) : "",
  );
  expect(errors).toEqual([
    expect.stringContaining(`remote_agents "far" has ${problem}: `),
    expect.stringContaining(`agent_registry.catalogs "far" has ${problem}: `),
  ]);
  expect(errors.join()).not.toMatch(/s3|cret/);
});
