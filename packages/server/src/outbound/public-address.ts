import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What is global unicast in IPv6: the rest is unassigned or special, also where the library names no range. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** IPv4 addresses behind a translator (RFC 6052, section 2.1). */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
/** Addresses that look public and belong to the platform that a machine runs on: they tell its secrets. */
const PLATFORM: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** Tells whether an address is one of the public Internet, after IPv4 inside IPv6 was unwrapped. Other text is not. */
export function isPublicAddress(text: string): boolean {
  return ipaddr.isValid(text) && isPublic(unwrapped(ipaddr.parse(text)));
}

/** Brings an address to one form, so that two of them can be compared: IPv4 unwrapped, without a zone. */
export function canonicalAddress(text: string): string {
  return ipaddr.isValid(text) ? unwrapped(ipaddr.parse(text.replace(/%.*$/s, ""))).toString() : text;
}

function unwrapped(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(-4)) : address;
}

function isPublic(address: Address): boolean {
  if (address.range() !== "unicast" || PLATFORM.has(address.toString())) return false;
  return !(address instanceof ipaddr.IPv6) || address.match(GLOBAL_UNICAST);
}
