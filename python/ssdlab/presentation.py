"""Results as users hold them: the data of a run with its figures, its report and its folder."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.figures import figure_of
from ssdlab.files import damaged
from ssdlab.results import RunData
from ssdlab.words import in_own_words

if TYPE_CHECKING:
    from ssdlab.report.picture import Figure
    from ssdlab.tails import Why

__all__ = ["Result"]


class Result(RunData):
    """Result of one run: numbers, tables, figures, a report and a folder.

    Numbers and tables are those of :class:`~ssdlab.results.RunData`, which pages read; this class adds what opens them,
    since data that knew its pages would import what imports it. :attr:`summary` holds the numbers of ``summary.json``;
    the properties give those used most often.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill")
        >>> result
        <ssdlab.Result tiny · examples/trace.csv.gz · baseline · complete>
        >>> result.latency["read"].p50_ns / 1000, result.write_amplification
        (107.5, 1.0)
        >>> result.summary["flash"]["reads"]
        {'host': 296, 'rmw': 1491}
    """

    def _repr_html_(self) -> str:
        # Start-up: notebooks alone ask for it.
        from ssdlab.notebook import result_table

        with damaged(self.folder):
            return result_table(self)

    def why(self) -> Why:
        """Returns why the tails of the run are long: their causes, and the fields that bear on them.

        :func:`ssdlab.why` also tries the fields.

        Raises:
            InputError: the result was made by an earlier version, without the causes of its tails.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=10_000)
            >>> result.why().tails["write"][0].causes["die_erase"] > result.causes["write"]["die_erase"]
            True
        """
        # Start-up: few runs are asked for it.
        from ssdlab.tails import why_of

        with damaged(self.folder):
            return why_of(self)

    # Figures.

    def _figure(self, name: str) -> Figure:
        with damaged(self.folder):
            return figure_of(name, [self])

    def plot_latency(self) -> Figure:
        """Plots the latency distribution on a probability axis.

        Examples:
            >>> figure = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill").plot_latency()
            >>> figure.write_html("latency.html")
            >>> figure.layout.yaxis.title.text
            'commands no slower (probability axis)'
        """
        return self._figure("latency")

    def plot_causes(self) -> Figure:
        """Plots the mean latency by cause.

        Examples:
            >>> figure = ssdlab.run("tiny", "examples/trace.csv.gz").plot_causes()
            >>> sorted({bar.name for bar in figure.data})
            ['commands on the channel', ..., 'waiting: other host writes', 'waiting: the channel']
        """
        return self._figure("causes")

    def plot_timeline(self) -> Figure:
        """Plots bandwidth, commands and queue depth over simulated time.

        Examples:
            >>> figure = ssdlab.run("tiny", "examples/trace.csv.gz").plot_timeline()
            >>> figure.layout.annotations[0].text
            '<b>bandwidth</b>'
        """
        return self._figure("timeline")

    def plot_utilisation(self) -> Figure:
        """Plots the utilisation of each channel and die, and of the decoders where reads can fail.

        Examples:
            >>> figure = ssdlab.run("tiny", "examples/trace.csv.gz").plot_utilisation()
            >>> figure.data[0].y
            ('channel 0', 'channel 1')
        """
        return self._figure("utilisation")

    def plot_read_attempts(self) -> Figure:
        """Plots the attempts at reads: how many were made and failed, and their mean time by cause.

        Examples:
            >>> errors = ["ecc.errors={kind='constant',rates=[2.7e-3]}", "ecc.plan='read_retry'"]
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill", set=errors)
            >>> [bar.name for bar in result.plot_read_attempts().data][:2]
            ['made', 'failed']
        """
        return self._figure("read_attempts")

    def plot_write_amplification(self) -> Figure:
        """Plots the write amplification by reason of the program.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=2000)
            >>> [bar.name for bar in result.plot_write_amplification().data]
            ['host', 'gc']
        """
        return self._figure("write_amplification")

    def plot_modes(self) -> Figure:
        """Plots the shares of the write, erase and read modes.

        Examples:
            >>> figure = ssdlab.run("tiny", "examples/trace.csv.gz", "all_fast", precondition="fill").plot_modes()
            >>> [bar.name for bar in figure.data]
            ['fast', 'normal']
        """
        return self._figure("modes")

    def plot_wear(self) -> Figure:
        """Plots the share of the blocks with at most a number of program and erase cycles.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=2000)
            >>> figure = result.plot_wear()
            >>> figure.data[0].x, figure.data[0].y
            ((0, 0, 1), (0.0, 79.49, 100.0))
        """
        return self._figure("wear")

    # Files.

    def report(self) -> str:
        """Returns the report: one self-contained HTML page that works offline.

        Examples:
            >>> page = ssdlab.run("tiny", "examples/trace.csv.gz").report()
            >>> page.splitlines()[0]
            '<!DOCTYPE html>'
        """
        # Start-up: few runs are looked at as a page, which needs plotly.
        from ssdlab.report import page

        with damaged(self.folder):
            return page.single(self)

    @in_own_words
    def save(self, folder: str | PathLike[str], *, force: bool = False) -> Path:
        """Writes the result folder under a temporary name, then renames it: it is never incomplete. Returns its path.

        Raises:
            InputError: the folder exists and is not empty (unless `force`), or cannot be made.

        Examples:
            >>> folder = ssdlab.run("tiny", "examples/trace.csv.gz").save("out")
            >>> for path in sorted(folder.iterdir()):
            ...     print(path.name)
            drive.toml
            latency.parquet
            manifest.json
            report.html
            summary.json
            timeline.parquet
            workload.toml
        """
        # Start-up: the folder has the report.
        from ssdlab.saving import save_result

        return save_result(self, folder, force=force)

    def fio(self) -> dict[str, Any]:
        """Returns the numbers in the form of ``fio --output-format=json+``: with ``bins``, the latency histogram.

        Examples:
            >>> job = ssdlab.run("tiny", "examples/trace.csv.gz").fio()["jobs"][0]
            >>> job["write"]["total_ios"], job["write"]["clat_ns"]["mean"]
            (1940, 1034048.3)
        """
        # Start-up: few runs are shown in this form.
        from ssdlab.fio import document

        with damaged(self.folder):
            return document(self)
