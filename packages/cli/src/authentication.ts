import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  defined,
  isObject,
  parseJsonOrUndefined,
} from "@devtool/internal/json";
import { CallerRight } from "@devtool/schema";
import type {
  JwtConfig,
  RoleConfig,
  ServerConfig,
  TlsConfig,
} from "@devtool/schema/operator";
import type { ServerSettings } from "@devtool/server";

type Authentication = NonNullable<ServerSettings["authentication"]>;
type JwtOptions = NonNullable<Authentication["jwt"]>;
/** A JSON Web Key Set. */
export type KeySet = NonNullable<JwtOptions["keys"]>;

/**
 * Returns the settings of authentication and TLS from a config file, with the
 * files that it names read. Paths are relative to its directory.
 */
export async function authenticationSettings(
  { authentication, tls }: Pick<ServerConfig, "authentication" | "tls">,
  directory: string,
): Promise<Pick<ServerSettings, "authentication" | "tls">> {
  return {
    authentication: authentication && {
      certificateRights: authentication.certificateRights.map(callerRight),
      roles: roleSettings(authentication.roles),
      certificateRolesAttribute: rolesAttribute(
        authentication.certificateRolesAttribute,
      ),
      jwt:
        authentication.jwt && (await jwtOptions(authentication.jwt, directory)),
    },
    tls: tls && (await tlsOptions(tls, directory)),
  };
}

async function jwtOptions(
  config: JwtConfig,
  directory: string,
): Promise<JwtOptions> {
  const {
    issuer,
    audience,
    jwksUri,
    keysFile,
    algorithms,
    approveScope,
    auditScope,
    rolesClaim,
    tierClaim,
  } = config;
  return {
    issuer,
    audience,
    // Fields that the file does not set are empty.
    ...defined({
      jwksUri: jwksUri || undefined,
      keys:
        keysFile === ""
          ? undefined
          : await readKeySet("jwt.keys_file", keysFile, directory),
      algorithms: algorithms.length > 0 ? algorithms : undefined,
      approveScope: approveScope || undefined,
      auditScope: auditScope || undefined,
      rolesClaim: rolesClaim || undefined,
      tierClaim: tierClaim || undefined,
    }),
  };
}

async function tlsOptions(
  config: TlsConfig,
  directory: string,
): Promise<NonNullable<ServerSettings["tls"]>> {
  const read = (field: string, path: string): Promise<string> =>
    readNamedFile(`tls.${field}`, resolve(directory, path));
  const {
    certificateFile,
    keyFile,
    clientAuthoritiesFile: authorities,
  } = config;
  return {
    certificate: await read("certificate_file", certificateFile),
    key: await read("key_file", keyFile),
    ...defined({
      clientAuthorities:
        authorities === ""
          ? undefined
          : await read("client_authorities_file", authorities),
    }),
  };
}

/** Reads the file that a field of the config file names. */
async function readNamedFile(field: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    throw new Error(
      `${field} "${path}" cannot be read: name an existing file`,
      { cause: reason },
    );
  }
}

/**
 * Reads a JSON Web Key Set, which a field of a config file or an option names.
 * The keys themselves are checked when a token is.
 */
export async function readKeySet(
  name: string,
  path: string,
  directory: string,
): Promise<KeySet> {
  const json: unknown = parseJsonOrUndefined(
    await readNamedFile(name, resolve(directory, path)),
  );
  if (isKeySet(json)) return json;
  throw new Error(
    `${name} "${path}" holds no key set: it needs a list of "keys", in JSON`,
  );
}

function isKeySet(json: unknown): json is KeySet {
  return (
    isObject(json) && Array.isArray(json.keys) && json.keys.every(isObject)
  );
}

function callerRight(right: CallerRight): "approve" | "audit" {
  if (right === CallerRight.APPROVE) return "approve";
  if (right === CallerRight.AUDIT) return "audit";
  const name = CallerRight[right].toLowerCase();
  throw new Error(
    `authentication.certificate_rights "${name}" cannot be given: choose approve, audit`,
  );
}

function rolesAttribute(attribute: string): "O" | "OU" | undefined {
  if (attribute === "") return undefined;
  if (attribute === "O" || attribute === "OU") return attribute;
  throw new Error(
    `authentication.certificate_roles_attribute ${JSON.stringify(attribute)} is unknown: choose O, OU`,
  );
}

function roleSettings(roles: readonly RoleConfig[]): Authentication["roles"] {
  if (roles.length === 0) return undefined;
  return roles.map(({ role, rights, agents }) => ({
    role,
    rights: rights.map(roleRight),
    agents: agents.length > 0 ? agents : undefined,
  }));
}

function roleRight(
  right: CallerRight,
): NonNullable<Authentication["roles"]>[number]["rights"][number] {
  switch (right) {
    case CallerRight.READ:
      return "read";
    case CallerRight.RUN:
      return "run";
    case CallerRight.LIST_ALL:
      return "list_all";
    case CallerRight.REGISTER:
      return "register";
    default:
      return callerRight(right);
  }
}
