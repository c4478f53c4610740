import { resolve } from "node:path";
import { defined } from "@devtool/internal/json";
import type { ServerConfig } from "@devtool/schema/operator";
import type { ServerSettings } from "@devtool/server";
import { readKeySet } from "../authentication.ts";
import { readTokenFile } from "../token-file.ts";
import { assertAddress } from "./remote-agents.ts";

/**
 * Returns which agents elsewhere the config file has a server find. Throws an
 * error that names the value that cannot be used.
 */
export async function agentRegistry(
  {
    agentRegistry: configured,
    remoteAgents,
  }: Pick<ServerConfig, "agentRegistry" | "remoteAgents">,
  directory: string,
): Promise<NonNullable<ServerSettings["agentRegistry"]>> {
  const { catalogs = [], keysFile = "", targets = [] } = configured ?? {};
  const keysOf = (setting: string, file: string) =>
    file === ""
      ? undefined
      : readKeySet(`${setting}: keys_file`, file, directory);
  const twice = catalogs.find(
    ({ name }, index) => catalogs.findIndex((one) => one.name === name) < index,
  );
  if (twice) {
    throw new Error(
      `agent_registry.catalogs "${twice.name}" is there twice: choose another name`,
    );
  }
  return {
    targets,
    reservedNames: remoteAgents.map(({ name }) => name),
    ...defined({ keys: await keysOf("agent_registry", keysFile) }),
    catalogs: await Promise.all(
      catalogs.map(async ({ name, url, tokenFile, ...files }) => {
        const setting = `agent_registry.catalogs "${name}"`;
        if (!/^[\w-]{1,30}$/.test(name)) {
          throw new Error(
            `${setting} has no name of up to 30 letters, digits, - and _: name it`,
          );
        }
        assertAddress(setting, url);
        const token =
          tokenFile === ""
            ? undefined
            : await readTokenFile(resolve(directory, tokenFile));
        const keys = await keysOf(setting, files.keysFile);
        return { name, url, ...defined({ token, keys }) };
      }),
    ),
  };
}
