import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CallerRight, type JwtConfig, type ServerConfig, type TlsConfig } from "@devtool/schema";
import type { ServerSettings } from "@devtool/server";

type Authentication = NonNullable<ServerSettings["authentication"]>;

/** Returns the settings of authentication and TLS from a config file, with the files that it names read. Paths are relative to its directory. */
export async function authenticationOf(
  { authentication, tls }: Pick<ServerConfig, "authentication" | "tls">,
  directory: string,
): Promise<Pick<ServerSettings, "authentication" | "tls">> {
  const { jwt, certificateRights = [] } = authentication ?? {};
  return {
    ...(authentication && {
      authentication: {
        certificateRights: certificateRights.map(rightOf),
        ...(jwt && { jwt: await jwtOf(jwt, directory) }),
      },
    }),
    ...(tls && { tls: await tlsOf(tls, directory) }),
  };
}

async function jwtOf(config: JwtConfig, directory: string): Promise<NonNullable<Authentication["jwt"]>> {
  const { issuer, audience, jwksUri, keysFile, algorithms, approveScope, auditScope } = config;
  return {
    issuer,
    audience,
    ...(jwksUri !== "" && { jwksUri }),
    ...(keysFile !== "" && { keys: keySetIn(await textOf("jwt.keys_file", resolve(directory, keysFile)), keysFile) }),
    ...(algorithms.length > 0 && { algorithms }),
    ...(approveScope !== "" && { approveScope }),
    ...(auditScope !== "" && { auditScope }),
  };
}

async function tlsOf(config: TlsConfig, directory: string): Promise<NonNullable<ServerSettings["tls"]>> {
  const { certificateFile, keyFile, clientAuthoritiesFile: authorities } = config;
  return {
    certificate: await textOf("tls.certificate_file", resolve(directory, certificateFile)),
    key: await textOf("tls.key_file", resolve(directory, keyFile)),
    ...(authorities !== "" && {
      clientAuthorities: await textOf("tls.client_authorities_file", resolve(directory, authorities)),
    }),
  };
}

async function textOf(field: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    throw new Error(`${field} "${path}" cannot be read: name a file that is there`, { cause: reason });
  }
}

function keySetIn(text: string, path: string): NonNullable<NonNullable<Authentication["jwt"]>["keys"]> {
  const json = jsonIn(text);
  if (isKeySet(json)) return json;
  throw new Error(`jwt.keys_file "${path}" holds no key set: it needs a list of "keys", in JSON`);
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isKeySet(json: unknown): json is NonNullable<NonNullable<Authentication["jwt"]>["keys"]> {
  return typeof json === "object" && json !== null && "keys" in json && Array.isArray(json.keys);
}

function rightOf(right: CallerRight): "approve" | "audit" {
  if (right === CallerRight.APPROVE) return "approve";
  if (right === CallerRight.AUDIT) return "audit";
  throw new Error(`certificate_rights "${right}" does not exist: choose approve, audit`);
}
