import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ServerConfigSchema } from "@devtool/schema/operator";
import { expect, it } from "vitest";
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
