/**
 * Writes the extension as a `.vsix` into `dist/`: a zip that has its manifest
 * twice, as a package.json and as XML. Its bytes depend on its content alone.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { strToU8, zipSync } from "fflate";

const {
  scripts: _s,
  devDependencies: _d,
  private: _p,
  type: _t,
  ...manifest
} = JSON.parse(read("package.json"));
const { version } = JSON.parse(read("../../packages/ide/package.json"));
// Its name in the editor, which knows no scopes.
const name = "devtool";

/** The files of the extension, by their names in it. */
const FILES: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({ ...manifest, name, version }, null, 2),
  "extension.js": read("dist/extension.js"),
  "readme.md": read("README.md"),
  "LICENSE.txt": read("../../LICENSE"),
  "NOTICE.txt": read("../../NOTICE"),
  "THIRD-PARTY-LICENSES.txt": read("dist/THIRD-PARTY-LICENSES.txt"),
};

const XML = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${manifest.publisher}" />
    <DisplayName>${escapeXml(manifest.displayName)}</DisplayName>
    <Description xml:space="preserve">${escapeXml(manifest.description)}</Description>
    <Tags>${escapeXml(manifest.keywords.join(","))}</Tags>
    <Categories>${escapeXml(manifest.categories.join(","))}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escapeXml(manifest.engines.vscode)}" />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${escapeXml(manifest.extensionKind.join(","))}" />
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code" />
  </Installation>
  <Dependencies />
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/readme.md" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true" />
  </Assets>
</PackageManifest>
`;
const TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json" /><Default Extension=".vsixmanifest" ContentType="text/xml" /><Default Extension=".js" ContentType="application/javascript" /><Default Extension=".md" ContentType="text/markdown" /><Default Extension=".txt" ContentType="text/plain" /></Types>
`;

const inExtension = Object.entries(FILES).map(
  ([name, text]): [string, Uint8Array] => [`extension/${name}`, strToU8(text)],
);
const zip = zipSync(
  {
    "extension.vsixmanifest": strToU8(XML),
    "[Content_Types].xml": strToU8(TYPES),
    ...Object.fromEntries(inExtension),
  },
  { level: 9, mtime: "1980-01-02" },
);
writeFileSync(new URL("dist/devtool.vsix", import.meta.url), zip);

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), "utf8");
}

function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll('"', "&quot;");
}
