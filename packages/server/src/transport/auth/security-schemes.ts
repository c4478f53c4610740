import { discoveryUrl } from "./issuer-keys.ts";

/** How clients may say who they are, in neither version of A2A. */
export interface SecurityOptions {
  /** The issuer whose tokens are taken; undefined when none's are. */
  readonly issuer?: string;
  /** Whether client certificates are taken. */
  readonly certificates: boolean;
}

/** One way to authenticate, as a card of A2A 0.3 has it (section 5.5.3). */
export interface SecuritySchemeV03 {
  readonly type: "http" | "openIdConnect" | "mutualTLS";
  readonly description: string;
  readonly scheme?: string;
  readonly openIdConnectUrl?: string;
}

/** One way to authenticate, as a card of A2A 1.0 has it (section 4.5): the name of the one field tells which. */
export type SecuritySchemeV1 =
  | { readonly httpAuthSecurityScheme: { readonly description: string; readonly scheme: string } }
  | { readonly openIdConnectSecurityScheme: { readonly description: string; readonly openIdConnectUrl: string } }
  | { readonly mtlsSecurityScheme: { readonly description: string } };

/** The ways to authenticate, by name; any one of them is enough. These are what the guard takes, and no others. */
export function securitySchemesV03(options: SecurityOptions): Readonly<Record<string, SecuritySchemeV03>> {
  return Object.fromEntries(schemesOf(options).map(({ name, role: _role, ...scheme }) => [name, scheme]));
}

/** The same ways in the form of A2A 1.0. */
export function securitySchemesV1(options: SecurityOptions): Readonly<Record<string, SecuritySchemeV1>> {
  return Object.fromEntries(schemesOf(options).map((scheme) => [scheme.name, schemeV1(scheme)]));
}

/** Which of the ways are enough, in the form of A2A 0.3: any one. */
export function securityV03(options: SecurityOptions): Readonly<Record<string, string[]>>[] {
  return schemesOf(options).map(({ name }) => ({ [name]: [] }));
}

/**
 * The same in the form of A2A 1.0. Each names the role that it gives (OpenAPI 3.1 allows that), because the SDKs leave
 * empty lists out of what a signature is over, and with them everything that would be left empty.
 */
export function securityRequirementsV1(
  options: SecurityOptions,
): { readonly schemes: Readonly<Record<string, { readonly list: string[] }>> }[] {
  return schemesOf(options).map(({ name, role }) => ({ schemes: { [name]: { list: [role] } } }));
}

type Scheme = SecuritySchemeV03 & { readonly name: string; readonly role: string };

function schemesOf({ issuer, certificates }: SecurityOptions): Scheme[] {
  const description = "The operator's token.";
  const schemes: Scheme[] = [{ name: "bearer", role: "operator", type: "http", description, scheme: "bearer" }];
  if (issuer !== undefined) {
    const openIdConnectUrl = discoveryUrl(issuer);
    const description = "A token of the issuer.";
    schemes.push({ name: "oidc", role: "openid", type: "openIdConnect", description, openIdConnectUrl });
  }
  if (certificates)
    schemes.push({ name: "mtls", role: "client", type: "mutualTLS", description: "A client certificate." });
  return schemes;
}

function schemeV1({ type, description, scheme = "", openIdConnectUrl = "" }: Scheme): SecuritySchemeV1 {
  switch (type) {
    case "http":
      return { httpAuthSecurityScheme: { description, scheme: scheme === "bearer" ? "Bearer" : scheme } };
    case "openIdConnect":
      return { openIdConnectSecurityScheme: { description, openIdConnectUrl } };
    case "mutualTLS":
      return { mtlsSecurityScheme: { description } };
    default:
      return type satisfies never;
  }
}
