from stratax.command.convert.beam import ConvertImages as ConvertImages
