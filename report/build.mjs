// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Builds dist/report.html: the whole page but its values, in one file. With
// --check it writes nothing and fails if the file is not what the sources make.
import { readFileSync, writeFileSync } from "node:fs";
import { buildSync } from "esbuild";

const directory = new URL(".", import.meta.url).pathname;

function bundle(entry) {
  const result = buildSync({
    entryPoints: [directory + entry],
    bundle: true,
    minify: true,
    charset: "utf8",
    target: ["es2021", "chrome100", "firefox100", "safari15"],
    legalComments: "none",
    loader: { ".css": "css" },
    format: entry.endsWith(".ts") ? "iife" : undefined,
    write: false,
  });
  return result.outputFiles[0].text.trim();
}

const licence = readFileSync(directory + "node_modules/uplot/LICENSE", "utf8").trim();
const page = readFileSync(directory + "src/page.html", "utf8")
  .replace("/*licence*/", () => `/*\nuPlot, which this page contains, is licensed as follows.\n\n${licence}\n*/`)
  .replace("/*style*/", () => bundle("src/style.css"))
  .replace("/*script*/", () => bundle("src/main.ts"));

const target = directory + "dist/report.html";
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) {
    console.error("report/dist/report.html is stale; run 'make report-page'");
    process.exit(1);
  }
} else {
  writeFileSync(target, page);
}
