// SPDX-License-Identifier: MIT OR Apache-2.0

import java.io.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.stream.*;

/** The JVM's ways to a file, from several threads. */
public class Files {
    public static void main(String[] arguments) throws Exception {
        try (BufferedWriter out = new BufferedWriter(new FileWriter("lines"))) {
            for (int n = 0; n < 5000; n++) out.write("line " + n + "\n");
        }
        try (RandomAccessFile both = new RandomAccessFile("random", "rw")) {
            for (int n = 0; n < 500; n++) {
                both.seek((n * 37L % 500) * 100);
                both.write(new byte[] {(byte) n, 1, 2, 3});
            }
        }
        IntStream.range(0, 4).parallel().forEach(number -> {
            try (FileChannel channel = FileChannel.open(Path.of("channel" + number),
                    StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                for (int n = 0; n < 200; n++) channel.write(ByteBuffer.wrap(new byte[512]), n * 512L);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        });
        java.nio.file.Files.copy(Path.of("random"), Path.of("copy"));
        long bytes = java.nio.file.Files.lines(Path.of("lines")).mapToLong(String::length).sum();
        Process process = new ProcessBuilder("cat", "lines").redirectOutput(new File("catted")).start();
        System.out.println(bytes + " " + process.waitFor() + " " + new File("catted").length());
    }
}
