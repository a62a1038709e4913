# SPDX-License-Identifier: MIT OR Apache-2.0
# Reads a table in parts, saves them, reads them back and writes a summary.
lines <- file("numbers.csv", "r")
header <- readLines(lines, 1)
for (part in 1:12) {
  table <- read.csv(lines, header = FALSE, nrows = 4000, col.names = strsplit(header, ",")[[1]])
  saveRDS(table, sprintf("part_%02d.rds", part))
}
close(lines)
means <- numeric(0)
for (part in 1:12) {
  table <- readRDS(sprintf("part_%02d.rds", part))
  means[part] <- mean(table$b)
  write.csv(head(table, 200), sprintf("head_%02d.csv", part), row.names = FALSE)
}
write.table(means, "means.txt")
