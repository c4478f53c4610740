import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { authenticationSettings } from "./authentication.ts";
import { readConfig } from "./config.ts";

describe("authentication in a config file", () => {
  let directory: string;
  beforeAll(async () => {
    directory = temporaryDirectory();
    putFile(directory, "keys.json", '{"keys":[]}');
    putFile(directory, "odd.json", "[]");
    putFile(directory, "server.pem", "certificate");
    putFile(directory, "server.key", "key");
  });

  it("is nobody, when it says nothing", async () => {
    expect(await optionsOf("")).toEqual({});
  });

  it("is an issuer with its scopes, and its keys from a file beside it", async () => {
    const said = `[authentication.jwt]\nissuer = "https://i.example"\naudience = "a"\nkeys_file = "keys.json"\napprove_scope = "x"`;
    expect(await optionsOf(said)).toEqual({
      authentication: {
        certificateRights: [],
        jwt: {
          issuer: "https://i.example",
          audience: "a",
          keys: { keys: [] },
          approveScope: "x",
        },
      },
    });
  });

  it("is whoever has a certificate, with the rights that it names", async () => {
    const said = `[authentication]\ncertificate_rights = ["approve", "audit"]\n[tls]\ncertificate_file = "server.pem"\nkey_file = "server.key"\nclient_authorities_file = "server.pem"`;
    expect(await optionsOf(said)).toEqual({
      authentication: { certificateRights: ["approve", "audit"] },
      tls: {
        certificate: "certificate",
        key: "key",
        clientAuthorities: "certificate",
      },
    });
  });

  it("is whoever has a role, with what the role gives", async () => {
    const said = `[authentication]\ncertificate_roles_attribute = "OU"\n[[authentication.roles]]\nrole = "devs"\nrights = ["run", "approve"]\nagents = ["one"]\n[[authentication.roles]]\nrole = "*"\nrights = ["read", "audit", "list_all"]\n[authentication.jwt]\nissuer = "https://i.example"\naudience = "a"\nroles_claim = "realm_access.roles"`;
    expect(await optionsOf(said)).toEqual({
      authentication: {
        certificateRights: [],
        certificateRolesAttribute: "OU",
        roles: [
          { role: "devs", rights: ["run", "approve"], agents: ["one"] },
          { role: "*", rights: ["read", "audit", "list_all"] },
        ],
        jwt: {
          issuer: "https://i.example",
          audience: "a",
          rolesClaim: "realm_access.roles",
        },
      },
    });
  });

  it.each([
    ['[tls]\ncertificate_file = "none.pem"', "tls.certificate_file"],
    [
      '[authentication]\ncertificate_rights = ["everything"]',
      'certificate_rights "everything" is unknown: choose approve, audit',
    ],
    [
      '[authentication]\ncertificate_rights = ["run"]',
      'certificate_rights "run" cannot be given: choose approve, audit',
    ],
    [
      '[[authentication.roles]]\nrole = "a"\nrights = ["fly"]',
      'rights "fly" is unknown: choose approve, audit, read, run',
    ],
    [
      '[authentication]\ncertificate_roles_attribute = "CN"',
      'certificate_roles_attribute "CN" is unknown: choose O, OU',
    ],
    ['[authentication.jwt]\nkeys_file = "odd.json"', "holds no key set"],
    [
      '[authentication.jwt]\nkeys_file = "server.pem"',
      'jwt.keys_file "server.pem" holds no key set',
    ],
  ])("says what is wrong with %s", async (said, words) => {
    await expect(optionsOf(said)).rejects.toThrow(words);
  });

  async function optionsOf(said: string) {
    const path = join(directory, "config.toml");
    await writeFile(path, said, { mode: 0o600 });
    return authenticationSettings(await readConfig(path, directory), directory);
  }
});
