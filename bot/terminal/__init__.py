"""The reading commands of the command line: the questions of the room, asked of files."""
