# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Sorts the rows of a table into files by the first digit of a column, then reads
# these again and writes their sums.
use strict;
use warnings;

my ($table) = @ARGV;
my %parts;
open my $in, '<', $table or die "$table: $!";
<$in>;
while (my $line = <$in>) {
    my ($key) = split /,/, $line;
    my $digit = substr $key, 0, 1;
    open $parts{$digit}, '>', "part$digit.csv" or die "part$digit.csv: $!" unless $parts{$digit};
    print { $parts{$digit} } $line;
}
close $_ for values %parts;
close $in;

open my $out, '>', 'sums' or die "sums: $!";
for my $digit (sort keys %parts) {
    open my $part, '<', "part$digit.csv" or die "part$digit.csv: $!";
    my ($sum, $rows) = (0, 0);
    while (my $line = <$part>) {
        $sum += (split /,/, $line)[1];
        $rows++;
    }
    close $part;
    printf $out "%s %d %.3f\n", $digit, $rows, $sum;
}
close $out;
